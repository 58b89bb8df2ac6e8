import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

type Schema = Record<string, unknown>;

const SHARED = resolve(process.env.GW_SHARED ?? join(import.meta.dirname, '../../../shared'));
const FILE = join(SHARED, 'openai-schema/openai.json');

/** Whether OpenAI's schema is at hand: it lies beside the repository, in `../shared` or `$GW_SHARED`. */
export const hasOpenAiSchema = existsSync(FILE);

/**
 * What is wrong with a value as OpenAI's schema describes it: one line a fault. It knows the keywords which that
 * schema uses, and is stricter in one way: fields that the schema doesn't have are faults.
 */
export function openAiFaults(name: string, value: unknown): string[] {
  const definitions: Record<string, Schema> = JSON.parse(readFileSync(FILE, 'utf8')).$defs;

  function faults(schema: Schema, value: unknown, path: string): string[] {
    if (typeof schema.$ref === 'string') return faults(definition(schema.$ref), value, path);
    const alternatives = schema.anyOf ?? schema.oneOf;
    if (Array.isArray(alternatives)) return faultsOfBest(alternatives, value, path);
    if (Array.isArray(schema.enum) && !schema.enum.includes(value))
      return [`${path}: not in the enumeration`];
    if (schema.type !== undefined && ![schema.type].flat().includes(typeOf(value, schema))) {
      return [`${path}: ${JSON.stringify(value)} is no ${schema.type}`];
    }
    if (Array.isArray(value)) {
      return value.flatMap((item, index) => faults(schema.items as Schema, item, `${path}[${index}]`));
    }
    return isObject(value) ? faultsOfFields(schema, value, path) : [];
  }

  function faultsOfBest(alternatives: Schema[], value: unknown, path: string): string[] {
    const each = alternatives.map((schema) => faults(schema, value, path));
    return each.reduce((best, other) => (other.length < best.length ? other : best));
  }

  function faultsOfFields(schema: Schema, value: Schema, path: string): string[] {
    const properties = (schema.properties ?? {}) as Record<string, Schema>;
    const required = (schema.required ?? []) as string[];
    const missing = required.filter((key) => !(key in value)).map((key) => `${path}.${key}: missing`);
    const wrong = Object.entries(value).flatMap(([key, field]) => {
      const property = properties[key];
      return property ? faults(property, field, `${path}.${key}`) : [`${path}.${key}: unknown`];
    });
    return [...missing, ...wrong];
  }

  function definition(reference: string): Schema {
    const found = definitions[reference.split('/').at(-1) ?? ''];
    if (!found) throw new Error(`the schema has no ${reference}`);
    return found;
  }

  return faults(definition(name), value, name);
}

function typeOf(value: unknown, schema: Schema): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (Number.isInteger(value) && [schema.type].flat().includes('integer')) return 'integer';
  return typeof value;
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
