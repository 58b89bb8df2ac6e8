import { isObject } from '../../json/object.ts';
import type { RequestContext } from '../context.ts';
import type { Tool } from '../conversation/conversation.ts';
import type { Json } from '../json.ts';

/** Tools with parameters that the provider takes: always an object, with properties. */
export function withSchemas(tools: readonly Tool[], { dialect }: Pick<RequestContext, 'dialect'>): Tool[] {
  return tools.map((tool) => {
    const parameters = asObject(isObject(tool.parameters) ? tool.parameters : {});
    return { ...tool, parameters: dialect.plainSchemas ? plainSchema(parameters) : parameters };
  });
}

/** OpenAI refuses an object without properties, and anything that is none. */
function asObject(schema: Json): Json {
  if (schema.type === 'object' && isObject(schema.properties)) return schema;
  if (schema.type !== undefined && schema.type !== 'object')
    return { ...schema, type: 'object', properties: {} };
  return { ...schema, type: 'object', properties: isObject(schema.properties) ? schema.properties : {} };
}

/** The words of Google's schemas: https://ai.google.dev/api/caching#Schema */
// biome-ignore format: they fit a few lines
const KNOWN = new Set([
  'type', 'format', 'title', 'description', 'nullable', 'enum', 'maxItems', 'minItems', 'properties', 'required',
  'minProperties', 'maxProperties', 'minLength', 'maxLength', 'pattern', 'example', 'anyOf', 'propertyOrdering',
  'default', 'items', 'minimum', 'maximum',
]);
/** Deeper than any schema that a model can fill; references may go in circles. */
const MAX_DEPTH = 24;

/** A schema in the words that Google knows: definitions in place of references, `enum` for `const`, one type of items. */
export function plainSchema(schema: Json): Json {
  const definitions = { ...objectIn(schema.definitions), ...objectIn(schema.$defs) };
  return plain(schema, definitions, 0);
}

const objectIn = (value: unknown): Json => (isObject(value) ? value : {});

function plain(value: unknown, definitions: Json, depth: number): Json {
  if (!isObject(value) || depth > MAX_DEPTH) return {};
  const { $ref, const: only, oneOf, allOf, ...own } = value;
  const name = typeof $ref === 'string' ? (/^#\/(?:\$defs|definitions)\/(.+)$/.exec($ref)?.[1] ?? '') : '';
  const merged: Json = { ...objectIn(definitions[name]), ...own };
  for (const part of Array.isArray(allOf) ? allOf : []) Object.assign(merged, objectIn(part));
  if (Array.isArray(oneOf)) merged.anyOf = oneOf;
  if (only !== undefined) merged.enum = [only];
  if ('$ref' in merged) return plain(merged, definitions, depth + 1);
  const result: Json = {};
  for (const [key, each] of Object.entries(merged))
    if (KNOWN.has(key)) result[key] = member(key, each, definitions, depth + 1);
  return withOneType(result);
}

function member(key: string, value: unknown, definitions: Json, depth: number): unknown {
  switch (key) {
    case 'properties':
      return Object.fromEntries(
        Object.entries(objectIn(value)).map(([name, each]) => [name, plain(each, definitions, depth)]),
      );
    // A tuple becomes a list of any of its types.
    case 'items':
      return Array.isArray(value)
        ? { anyOf: value.map((each) => plain(each, definitions, depth)) }
        : plain(value, definitions, depth);
    case 'anyOf':
      return Array.isArray(value) ? value.map((each) => plain(each, definitions, depth)) : [];
    // Google takes only texts here.
    case 'enum':
      return Array.isArray(value) ? value.map(String) : [];
    default:
      return value;
  }
}

/** A list of types is one type that may be null, or any of several. */
function withOneType(schema: Json): Json {
  if (schema.enum !== undefined) return { ...schema, type: 'string' };
  if (!Array.isArray(schema.type)) return schema;
  const types = schema.type.filter((type) => type !== 'null');
  const { type: _type, ...rest } = schema;
  const nullable = types.length < schema.type.length ? { nullable: true } : {};
  if (types.length === 1) return { ...rest, type: types[0], ...nullable };
  return { ...rest, anyOf: types.map((type) => ({ type })), ...nullable };
}
