# The tools of memory.
from typing import Any, Literal, NotRequired, TypedDict

class AddObservationsObservationsItem(TypedDict):
    entityName: str
    contents: list[str]

class AddObservationsResultResultsItem(TypedDict):
    entityName: str
    addedObservations: list[str]

class AddObservationsResult(TypedDict):
    results: list[AddObservationsResultResultsItem]

def add_observations(*, observations: list[AddObservationsObservationsItem]) -> AddObservationsResult:
    """Add new observations to existing entities in the knowledge graph"""

class CreateEntitiesEntitiesItem(TypedDict):
    name: str
    entityType: str
    observations: list[str]

class CreateEntitiesResultEntitiesItem(TypedDict):
    name: str
    entityType: str
    observations: list[str]

class CreateEntitiesResult(TypedDict):
    entities: list[CreateEntitiesResultEntitiesItem]

def create_entities(*, entities: list[CreateEntitiesEntitiesItem]) -> CreateEntitiesResult:
    """Create multiple new entities in the knowledge graph"""

CreateRelationsRelationsItem = TypedDict("CreateRelationsRelationsItem", {
    "from": str,
    "to": str,
    "relationType": str,
})

CreateRelationsResultRelationsItem = TypedDict("CreateRelationsResultRelationsItem", {
    "from": str,
    "to": str,
    "relationType": str,
})

class CreateRelationsResult(TypedDict):
    relations: list[CreateRelationsResultRelationsItem]

def create_relations(*, relations: list[CreateRelationsRelationsItem]) -> CreateRelationsResult:
    """Create multiple new relations between entities in the knowledge graph. Relations should be in active voice"""

class DeleteEntitiesResult(TypedDict):
    success: bool
    message: str

def delete_entities(*, entityNames: list[str]) -> DeleteEntitiesResult:
    """Delete multiple entities and their associated relations from the knowledge graph"""

class DeleteObservationsDeletionsItem(TypedDict):
    entityName: str
    observations: list[str]

class DeleteObservationsResult(TypedDict):
    success: bool
    message: str

def delete_observations(*, deletions: list[DeleteObservationsDeletionsItem]) -> DeleteObservationsResult:
    """Delete specific observations from entities in the knowledge graph"""

DeleteRelationsRelationsItem = TypedDict("DeleteRelationsRelationsItem", {
    "from": str,
    "to": str,
    "relationType": str,
})

class DeleteRelationsResult(TypedDict):
    success: bool
    message: str

def delete_relations(*, relations: list[DeleteRelationsRelationsItem]) -> DeleteRelationsResult:
    """Delete multiple relations from the knowledge graph"""

class OpenNodesResultEntitiesItem(TypedDict):
    name: str
    entityType: str
    observations: list[str]

OpenNodesResultRelationsItem = TypedDict("OpenNodesResultRelationsItem", {
    "from": str,
    "to": str,
    "relationType": str,
})

class OpenNodesResult(TypedDict):
    entities: list[OpenNodesResultEntitiesItem]
    relations: list[OpenNodesResultRelationsItem]

def open_nodes(*, names: list[str]) -> OpenNodesResult:
    """Open specific nodes in the knowledge graph by their names"""

class ReadGraphResultEntitiesItem(TypedDict):
    name: str
    entityType: str
    observations: list[str]

ReadGraphResultRelationsItem = TypedDict("ReadGraphResultRelationsItem", {
    "from": str,
    "to": str,
    "relationType": str,
})

class ReadGraphResult(TypedDict):
    entities: list[ReadGraphResultEntitiesItem]
    relations: list[ReadGraphResultRelationsItem]

def read_graph() -> ReadGraphResult:
    """Read the entire knowledge graph"""

class SearchNodesResultEntitiesItem(TypedDict):
    name: str
    entityType: str
    observations: list[str]

SearchNodesResultRelationsItem = TypedDict("SearchNodesResultRelationsItem", {
    "from": str,
    "to": str,
    "relationType": str,
})

class SearchNodesResult(TypedDict):
    entities: list[SearchNodesResultEntitiesItem]
    relations: list[SearchNodesResultRelationsItem]

def search_nodes(*, query: str) -> SearchNodesResult:
    """Search for nodes in the knowledge graph based on a query"""
