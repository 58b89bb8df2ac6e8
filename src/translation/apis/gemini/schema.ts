import { isObject } from '../../../json/object.ts';
import type { Json } from '../../json.ts';

/** The fields of an object in one of the two spellings that Google takes. */
export function withPlainNames(object: Json): Json {
  const plain: Json = {};
  for (const [key, value] of Object.entries(object))
    plain[key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())] = value;
  return plain;
}

/** Deeper than any schema that a model can fill. */
const MAX_DEPTH = 32;

/** Google's schema as JSON Schema: https://ai.google.dev/api/caching#Schema. Types are written in capitals there. */
export function jsonSchema(value: unknown, depth = 0): unknown {
  if (!isObject(value) || depth > MAX_DEPTH) return value;
  const {
    nullable,
    propertyOrdering: _order,
    property_ordering: _spelt,
    example: _example,
    ...fields
  } = value;
  const schema: Json = {};
  for (const [key, each] of Object.entries(fields)) schema[key] = member(key, each, depth + 1);
  if (nullable === true && typeof schema.type === 'string') schema.type = [schema.type, 'null'];
  return schema;
}

function member(key: string, value: unknown, depth: number): unknown {
  switch (key) {
    case 'type':
      return typeof value === 'string' ? value.toLowerCase() : value;
    case 'properties':
      return isObject(value)
        ? Object.fromEntries(Object.entries(value).map(([name, each]) => [name, jsonSchema(each, depth)]))
        : value;
    case 'items':
      return jsonSchema(value, depth);
    case 'anyOf':
      return Array.isArray(value) ? value.map((each) => jsonSchema(each, depth)) : value;
    // Written as a text, like all numbers of 64 bits.
    case 'minItems':
    case 'maxItems':
    case 'minLength':
    case 'maxLength':
    case 'minProperties':
    case 'maxProperties':
      return typeof value === 'string' ? Number(value) : value;
    default:
      return value;
  }
}
