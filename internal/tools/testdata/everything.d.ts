// The tools of everything.

/** Echoes back the input string */
export function echo(args: {message: string}): Promise<unknown>;

/** Demonstrates how annotations can be used to provide metadata about content. */
export function get_annotated_message(args: {messageType: "error" | "success" | "debug", includeImage?: boolean}): Promise<unknown>;

/** Returns all environment variables, helpful for debugging MCP server configuration */
export function get_env(args?: Record<string, never>): Promise<unknown>;

/** Returns up to ten resource links that reference different types of resources */
export function get_resource_links(args?: {count?: number}): Promise<unknown>;

/** Returns a resource reference that can be used by MCP clients */
export function get_resource_reference(args?: {resourceId?: number, resourceType?: "Text" | "Blob"}): Promise<unknown>;

/** Returns structured content along with an output schema for client data validation */
export function get_structured_content(args: {location: "New York" | "Chicago" | "Los Angeles"}): Promise<{temperature: number, conditions: string, humidity: number}>;

/** Returns the sum of two numbers */
export function get_sum(args: {a: number, b: number}): Promise<unknown>;

/** Returns a tiny MCP logo image. */
export function get_tiny_image(args?: Record<string, never>): Promise<unknown>;

/** Compresses a single file using gzip compression. Depending upon the selected output type, returns either the compressed data as a gzipped resource or a resource link, allowing it to be downloaded in a subsequent request during the current session. */
export function gzip_file_as_resource(args?: {data?: string, name?: string, outputType?: "resourceLink" | "resource"}): Promise<unknown>;

/** Simulates a deep research operation that gathers, analyzes, and synthesizes information. Demonstrates MCP task-based operations with progress through multiple stages. If 'ambiguous' is true and client supports elicitation, sends an elicitation request for clarification. */
export function simulate_research_query(args: {topic: string, ambiguous?: boolean}): Promise<unknown>;

/** Toggles simulated, random-leveled logging on or off. */
export function toggle_simulated_logging(args?: Record<string, never>): Promise<unknown>;

/** Toggles simulated resource subscription updates on or off. */
export function toggle_subscriber_updates(args?: Record<string, never>): Promise<unknown>;

/** Trigger a Request from the Server for User Elicitation */
export function trigger_elicitation_request(args?: Record<string, never>): Promise<unknown>;

/** Demonstrates a long running operation with progress updates.
 * (The type of the result is that of results so far.) */
export function trigger_long_running_operation(args?: {duration?: number, steps?: number}): Promise<string>;

/** Trigger a URL elicitation so the client can direct the user to a browser flow. Supports two mechanisms: the request path (elicitation/create, default) which awaits the user's response, and the error path (UrlElicitationRequiredError, -32042) which signals the client to handle URL elicitation via the error response. Set errorPath=true to use the error path. */
export function trigger_url_elicitation(args: {url: string, elicitationId?: string, errorPath?: boolean, message?: string}): Promise<unknown>;
