// The tools of memory.

/** Add new observations to existing entities in the knowledge graph */
export function add_observations(args: {observations: Array<{entityName: string, contents: Array<string>}>}): Promise<{results: Array<{entityName: string, addedObservations: Array<string>}>}>;

/** Create multiple new entities in the knowledge graph */
export function create_entities(args: {entities: Array<{name: string, entityType: string, observations: Array<string>}>}): Promise<{entities: Array<{name: string, entityType: string, observations: Array<string>}>}>;

/** Create multiple new relations between entities in the knowledge graph. Relations should be in active voice */
export function create_relations(args: {relations: Array<{"from": string, to: string, relationType: string}>}): Promise<{relations: Array<{"from": string, to: string, relationType: string}>}>;

/** Delete multiple entities and their associated relations from the knowledge graph */
export function delete_entities(args: {entityNames: Array<string>}): Promise<{success: boolean, message: string}>;

/** Delete specific observations from entities in the knowledge graph */
export function delete_observations(args: {deletions: Array<{entityName: string, observations: Array<string>}>}): Promise<{success: boolean, message: string}>;

/** Delete multiple relations from the knowledge graph */
export function delete_relations(args: {relations: Array<{"from": string, to: string, relationType: string}>}): Promise<{success: boolean, message: string}>;

/** Open specific nodes in the knowledge graph by their names */
export function open_nodes(args: {names: Array<string>}): Promise<{entities: Array<{name: string, entityType: string, observations: Array<string>}>, relations: Array<{"from": string, to: string, relationType: string}>}>;

/** Read the entire knowledge graph */
export function read_graph(args?: Record<string, never>): Promise<{entities: Array<{name: string, entityType: string, observations: Array<string>}>, relations: Array<{"from": string, to: string, relationType: string}>}>;

/** Search for nodes in the knowledge graph based on a query */
export function search_nodes(args: {query: string}): Promise<{entities: Array<{name: string, entityType: string, observations: Array<string>}>, relations: Array<{"from": string, to: string, relationType: string}>}>;
