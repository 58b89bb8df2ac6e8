import { isObject } from '../../json/object.ts';

type Schema = Record<string, unknown>;

/** Schemas may be recursive. Beyond this many values, all are null. */
const MAX_VALUES = 200;

/** A value that matches a JSON schema, in simple cases: constants, defaults, required properties. */
export function sampleOf(root: unknown): unknown {
  let left = MAX_VALUES;

  function sample(schema: unknown): unknown {
    if (!isObject(schema) || left-- <= 0) return null;
    if ('const' in schema) return schema.const;
    if (Array.isArray(schema.enum)) return schema.enum[0] ?? null;
    if ('default' in schema) return schema.default;
    if (typeof schema.$ref === 'string') return sample(resolve(root, schema.$ref));
    const alternatives = schema.anyOf ?? schema.oneOf ?? schema.allOf;
    if (Array.isArray(alternatives)) return sample(alternatives[0]);
    return sampleOfType(schema);
  }

  function sampleOfType(schema: Schema): unknown {
    const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
    switch (type ?? (schema.properties ? 'object' : 'string')) {
      case 'object':
        return sampleObject(schema);
      case 'array':
        return [sample(schema.items)];
      case 'integer':
      case 'number':
        return typeof schema.minimum === 'number' ? Math.ceil(schema.minimum) : 1;
      case 'boolean':
        return true;
      case 'string':
        return 'example';
      default:
        return null;
    }
  }

  function sampleObject({ properties, required }: Schema): Schema {
    const schemas = isObject(properties) ? properties : {};
    const names = Array.isArray(required) ? required.map(String) : [];
    return Object.fromEntries(names.map((name) => [name, sample(schemas[name])]));
  }

  return sample(root);
}

/** Follows a reference such as `#/$defs/place` within the schema. */
function resolve(root: unknown, reference: string): unknown {
  let node = root;
  for (const key of reference.split('/').slice(1)) node = isObject(node) ? node[key] : undefined;
  return node;
}
