/** A JSON text as a tree that, unlike a value, can have a key twice, and keys and scalars in any spelling. */
export type JsonNode = ObjectNode | { kind: 'array'; items: JsonNode[] } | { kind: 'scalar'; text: string };

export interface ObjectNode {
  kind: 'object';
  members: JsonMember[];
}

export interface JsonMember {
  /** As it stands between the quotes. */
  key: string;
  value: JsonNode;
}

export function toNode(value: unknown): JsonNode {
  if (Array.isArray(value)) return { kind: 'array', items: value.map(toNode) };
  if (typeof value !== 'object' || value === null) return { kind: 'scalar', text: JSON.stringify(value) };
  const members = Object.entries(value).map(([key, each]) => ({ key, value: toNode(each) }));
  return { kind: 'object', members };
}

export function print(node: JsonNode, space = ''): string {
  if (node.kind === 'scalar') return node.text;
  if (node.kind === 'array') return `[${node.items.map((item) => print(item, space)).join(`,${space}`)}]`;
  const members = node.members.map(({ key, value }) => `"${key}"${space}:${print(value, space)}`);
  return `{${members.join(`,${space}`)}}`;
}

/** All objects of a tree, the outermost first. */
export function objectsIn(node: JsonNode): ObjectNode[] {
  if (node.kind === 'scalar') return [];
  if (node.kind === 'array') return node.items.flatMap(objectsIn);
  return [node, ...node.members.flatMap(({ value }) => objectsIn(value))];
}
