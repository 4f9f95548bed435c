# The tools of everything.
from typing import Any, Literal, NotRequired, TypedDict

def echo(*, message: str) -> Any:
    """Echoes back the input string"""

def get_annotated_message(*, messageType: Literal["error"] | Literal["success"] | Literal["debug"], includeImage: bool = ...) -> Any:
    """Demonstrates how annotations can be used to provide metadata about content."""

def get_env() -> Any:
    """Returns all environment variables, helpful for debugging MCP server configuration"""

def get_resource_links(*, count: float = ...) -> Any:
    """Returns up to ten resource links that reference different types of resources"""

def get_resource_reference(*, resourceId: float = ..., resourceType: Literal["Text"] | Literal["Blob"] = ...) -> Any:
    """Returns a resource reference that can be used by MCP clients"""

class GetStructuredContentResult(TypedDict):
    temperature: float
    conditions: str
    humidity: float

def get_structured_content(*, location: Literal["New York"] | Literal["Chicago"] | Literal["Los Angeles"]) -> GetStructuredContentResult:
    """Returns structured content along with an output schema for client data validation"""

def get_sum(*, a: float, b: float) -> Any:
    """Returns the sum of two numbers"""

def get_tiny_image() -> Any:
    """Returns a tiny MCP logo image."""

def gzip_file_as_resource(*, data: str = ..., name: str = ..., outputType: Literal["resourceLink"] | Literal["resource"] = ...) -> Any:
    """Compresses a single file using gzip compression. Depending upon the selected output type, returns either the compressed data as a gzipped resource or a resource link, allowing it to be downloaded in a subsequent request during the current session."""

def simulate_research_query(*, topic: str, ambiguous: bool = ...) -> Any:
    """Simulates a deep research operation that gathers, analyzes, and synthesizes information. Demonstrates MCP task-based operations with progress through multiple stages. If 'ambiguous' is true and client supports elicitation, sends an elicitation request for clarification."""

def toggle_simulated_logging() -> Any:
    """Toggles simulated, random-leveled logging on or off."""

def toggle_subscriber_updates() -> Any:
    """Toggles simulated resource subscription updates on or off."""

def trigger_elicitation_request() -> Any:
    """Trigger a Request from the Server for User Elicitation"""

def trigger_long_running_operation(*, duration: float = ..., steps: float = ...) -> str:
    """Demonstrates a long running operation with progress updates.
    (The type of the result is that of results so far.)"""

def trigger_url_elicitation(*, url: str, elicitationId: str = ..., errorPath: bool = ..., message: str = ...) -> Any:
    """Trigger a URL elicitation so the client can direct the user to a browser flow. Supports two mechanisms: the request path (elicitation/create, default) which awaits the user's response, and the error path (UrlElicitationRequiredError, -32042) which signals the client to handle URL elicitation via the error response. Set errorPath=true to use the error path."""
