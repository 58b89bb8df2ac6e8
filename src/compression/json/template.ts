import { type Json, JsonArray, JsonObject } from './read.ts';
import { withoutItemQuotes, withoutKeyQuotes, withoutQuotes } from './text.ts';

/** An earlier JSON value that was sent with its keys, and the name by which a later one refers to it. */
export interface JsonTemplate {
  value: Json;
  name: string;
}

/** Objects written with their keys, by number of keys: they supply the keys of a `(value,value)` beside them. */
export type Siblings = Map<number, JsonObject>;

/** Objects with fewer keys are written with them. */
const MIN_KEYS = 2;

/**
 * Writes an object without its keys, `(value,value)`, if a sibling or the same object of an earlier JSON value (the
 * template) has them. Everything else is JSON without needless quotes. Lossless.
 */
export function encodeByTemplate(value: Json, template?: JsonTemplate): string {
  const own = new Set<JsonObject>();
  const body = write(value, template?.value, own);
  const places = template ? [template.name] : [];
  if (own.size > 0) places.push('the last {} with as many');
  if (places.length === 0) return `[gw json: text without quotes]\n${body}`;
  return `[gw json: (values) keyed as ${places.join(', or ')}]\n${body}`;
}

/** `own` collects the objects of this value that serve as templates for others. */
function write(value: Json, template: Json | undefined, own: Set<JsonObject>): string {
  if (typeof value === 'string') return withoutItemQuotes(value);
  if (value instanceof JsonObject && startsWithKeysOf(value, template))
    return writeValues(value, template, own);
  return writeWhole(value, template, own);
}

function writeWhole(value: JsonArray | JsonObject, template: Json | undefined, own: Set<JsonObject>): string {
  const siblings = siblingsIn(template);
  const whole = new Set<JsonObject>();
  const writeChild = (child: Json, place: Json | undefined): string => {
    if (!(child instanceof JsonObject)) return write(child, place, own);
    const match = templateFor(child.keys.length, place, siblings);
    if (match && startsWithKeysOf(child, match)) {
      if (whole.has(match)) own.add(match);
      return writeValues(child, match, own);
    }
    siblings.set(child.keys.length, child);
    whole.add(child);
    return writeWhole(child, match, own);
  };
  if (value instanceof JsonArray)
    return `[${value.items.map((item) => writeChild(item, listIn(template))).join(',')}]`;
  const fields = value.keys.map(
    (key, i) => `${withoutKeyQuotes(key)}:${writeChild(value.values[i] ?? 'null', fieldOf(template, key))}`,
  );
  return `{${fields.join(',')}}`;
}

function writeValues(value: JsonObject, template: JsonObject, own: Set<JsonObject>): string {
  const cells = value.values.map((child, i) => {
    if (i >= template.keys.length) return `${value.keys[i]}:${write(child, template.values[i], own)}`;
    return typeof child === 'string' ? withoutQuotes(child, false) : write(child, template.values[i], own);
  });
  return `(${cells.join(',')})`;
}

/** The key under which a template is looked up: the first keys of the value or of its first row. */
export function outlineOf(value: Json): string | undefined {
  const row = value instanceof JsonArray ? value.items[0] : value;
  if (!(row instanceof JsonObject) || row.keys.length < MIN_KEYS) return undefined;
  return `${value === row ? '' : '[]'}${row.keys.slice(0, MIN_KEYS).join(',')}`;
}

/** Whether an object starts with the keys of the template, in order. */
export function startsWithKeysOf(value: JsonObject, template: Json | undefined): template is JsonObject {
  if (!(template instanceof JsonObject) || template.keys.length < MIN_KEYS) return false;
  return template.keys.every((key, i) => key === value.keys[i]);
}

/** The object that supplies the keys for `count` values: the template's own field, else the last sibling. */
export function templateFor(
  count: number,
  own: Json | undefined,
  siblings: Siblings,
): JsonObject | undefined {
  return own instanceof JsonObject && own.keys.length === count ? own : siblings.get(count);
}

/** The siblings that the template supplies for the items or fields of a value. */
export function siblingsIn(template: Json | undefined): Siblings {
  const siblings: Siblings = new Map();
  if (template === undefined || typeof template === 'string') return siblings;
  for (const child of template instanceof JsonArray ? template.items : template.values) {
    if (child instanceof JsonObject && !siblings.has(child.keys.length))
      siblings.set(child.keys.length, child);
  }
  return siblings;
}

/** The template for lists in a list. */
export function listIn(template: Json | undefined): Json | undefined {
  return template instanceof JsonArray ? template.items.find((item) => item instanceof JsonArray) : undefined;
}

/** The template for a field of an object. */
export function fieldOf(template: Json | undefined, key: string): Json | undefined {
  return template instanceof JsonObject ? template.values[template.keys.indexOf(key)] : undefined;
}
