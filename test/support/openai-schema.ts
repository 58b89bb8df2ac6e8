import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Ajv2019, type ValidateFunction } from 'ajv/dist/2019.js';

type Schema = Record<string, unknown>;

const SHARED = resolve(process.env.GW_SHARED ?? join(import.meta.dirname, '../../../shared'));
const FILE = join(SHARED, 'openai-schema/openai.json');

/** Whether OpenAI's schema is at hand: it lies beside the repository, in `../shared` or `$GW_SHARED`. */
export const hasOpenAiSchema = existsSync(FILE);
if (!hasOpenAiSchema) {
  console.warn(
    `OpenAI's schema is not at ${FILE}, so nothing is checked against it. GW_SHARED says where it is`,
  );
}

interface Definitions {
  all: Record<string, Schema>;
  validatorOf(name: string): ValidateFunction;
}

let definitions: Definitions | undefined;

/** Read once, and compiled as far as they are asked for. */
function readDefinitions(): Definitions {
  if (definitions) return definitions;
  const all = closed(JSON.parse(readFileSync(FILE, 'utf8')).$defs);
  const ajv = new Ajv2019({ allErrors: true, strict: false, validateFormats: false, inlineRefs: false });
  ajv.addSchema({ $id: 'openai', $defs: all });
  definitions = {
    all,
    validatorOf(name) {
      const found = ajv.getSchema(`openai#/$defs/${name}`);
      if (!found) throw new Error(`the schema has no ${name}`);
      return found as ValidateFunction;
    },
  };
  return definitions;
}

/**
 * What is wrong with a value as OpenAI's schema describes it: one line a fault. Stricter in one way: fields that the
 * schema doesn't have are faults.
 */
export function openAiFaults(name: string, value: unknown): string[] {
  const validate = readDefinitions().validatorOf(name);
  // As a client reads it: what is undefined is not there.
  if (validate(JSON.parse(JSON.stringify(value)))) return [];
  return (validate.errors ?? []).map(({ instancePath, message, params }) => {
    const unknown = (params as { unevaluatedProperty?: string }).unevaluatedProperty;
    return `${name}${instancePath}: ${unknown === undefined ? message : `unknown field ${unknown}`}`;
  });
}

/** The faults of a responses event, which its type tells the schema of. */
export function openAiEventFaults(event: { type?: unknown }): string[] {
  const isOfType = ([name, { properties }]: [string, Schema]) => {
    const { type } = (properties ?? {}) as { type?: { enum?: unknown[] } };
    return name.endsWith('Event') && type?.enum?.[0] === event.type;
  };
  const found = Object.entries(readDefinitions().all).find(isOfType);
  return found ? openAiFaults(found[0], event) : [`there is no event ${String(event.type)}`];
}

/** The definitions, with objects that have no other fields than they name. */
function closed(all: Record<string, Schema>): Record<string, Schema> {
  return Object.fromEntries(Object.entries(all).map(([name, schema]) => [name, close(schema, all)]));
}

function close(schema: Schema, all: Record<string, Schema>, isPart = false): Schema {
  const copy: Schema = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key === 'properties') {
      const fields = Object.entries(value as Record<string, Schema>);
      copy[key] = Object.fromEntries(fields.map(([name, field]) => [name, close(field, all)]));
    } else if (key === 'allOf')
      copy[key] = (value as Schema[]).map((part) => close(target(part, all), all, true));
    else if (key === 'anyOf' || key === 'oneOf')
      copy[key] = (value as Schema[]).map((each) => close(each, all));
    else if (key === 'items') copy[key] = close(value as Schema, all);
    else copy[key] = value;
  }
  const isObject = 'properties' in schema || 'allOf' in schema;
  const isOpen = isPart || !isObject || 'additionalProperties' in schema;
  return isOpen ? copy : { ...copy, unevaluatedProperties: false };
}

/** Parts of a whole are not closed by themselves. */
function target(part: Schema, all: Record<string, Schema>): Schema {
  const name = typeof part.$ref === 'string' ? part.$ref.split('/').at(-1) : undefined;
  return (name === undefined ? undefined : all[name]) ?? part;
}
