import { type Json, JsonArray, JsonObject } from './read.ts';
import { withoutItemQuotes, withoutKeyQuotes, withoutQuotes } from './text.ts';

/** A JSON value that went out with its keys, and how to tell the reader which one is meant. */
export interface JsonModel {
  value: Json;
  name: string;
}

/** Objects that were written with their keys, by how many they have: what a `(value,value)` near them is read by. */
export type Siblings = Map<number, JsonObject>;

/** Fewer values in brackets don't pay for looking their keys up. */
const MIN_KEYS = 2;

/**
 * Writes an object without its keys, `(value,value)`, where one beside it or the same one in an earlier JSON
 * value shows them; all else as JSON, but without the quotes that nothing needs. `decodeLike` reads it back.
 */
export function encodeLike(value: Json, model?: JsonModel): string {
  const own = new Set<JsonObject>();
  const body = write(value, model?.value, own);
  const places = model ? [model.name] : [];
  if (own.size > 0) places.push('the last {} with as many');
  if (places.length === 0) return `[gw json: text without quotes]\n${body}`;
  return `[gw json: (values) keyed as ${places.join(', or ')}]\n${body}`;
}

/** `own` collects the objects of this value that others are read by. */
function write(value: Json, model: Json | undefined, own: Set<JsonObject>): string {
  if (typeof value === 'string') return withoutItemQuotes(value);
  if (value instanceof JsonObject && startsLike(value, model)) return writeValues(value, model, own);
  return writeWhole(value, model, own);
}

function writeWhole(value: JsonArray | JsonObject, model: Json | undefined, own: Set<JsonObject>): string {
  const siblings = siblingsIn(model);
  const whole = new Set<JsonObject>();
  const writeChild = (child: Json, place: Json | undefined): string => {
    if (!(child instanceof JsonObject)) return write(child, place, own);
    const like = likeOf(child.keys.length, place, siblings);
    if (like && startsLike(child, like)) {
      if (whole.has(like)) own.add(like);
      return writeValues(child, like, own);
    }
    siblings.set(child.keys.length, child);
    whole.add(child);
    return writeWhole(child, like, own);
  };
  if (value instanceof JsonArray)
    return `[${value.items.map((item) => writeChild(item, listIn(model))).join(',')}]`;
  const fields = value.keys.map(
    (key, i) => `${withoutKeyQuotes(key)}:${writeChild(value.values[i] ?? 'null', fieldOf(model, key))}`,
  );
  return `{${fields.join(',')}}`;
}

function writeValues(value: JsonObject, like: JsonObject, own: Set<JsonObject>): string {
  const cells = value.values.map((child, i) => {
    if (i >= like.keys.length) return `${value.keys[i]}:${write(child, like.values[i], own)}`;
    return typeof child === 'string' ? withoutQuotes(child, false) : write(child, like.values[i], own);
  });
  return `(${cells.join(',')})`;
}

/** Under what a JSON value is kept to be a model of later ones: its first keys, or those of its first row. */
export function outlineOf(value: Json): string | undefined {
  const row = value instanceof JsonArray ? value.items[0] : value;
  if (!(row instanceof JsonObject) || row.keys.length < MIN_KEYS) return undefined;
  return `${value === row ? '' : '[]'}${row.keys.slice(0, MIN_KEYS).join(',')}`;
}

/** Whether an object has the keys of another in their order, and perhaps more after them. */
export function startsLike(value: JsonObject, model: Json | undefined): model is JsonObject {
  if (!(model instanceof JsonObject) || model.keys.length < MIN_KEYS) return false;
  return model.keys.every((key, i) => key === value.keys[i]);
}

/** The object that so many values in brackets are read by: the model's own field, else the last sibling. */
export function likeOf(count: number, own: Json | undefined, siblings: Siblings): JsonObject | undefined {
  return own instanceof JsonObject && own.keys.length === count ? own : siblings.get(count);
}

/** What the items or fields of a value are read by when the same place of an earlier value had such. */
export function siblingsIn(model: Json | undefined): Siblings {
  const siblings: Siblings = new Map();
  if (model === undefined || typeof model === 'string') return siblings;
  for (const child of model instanceof JsonArray ? model.items : model.values) {
    if (child instanceof JsonObject && !siblings.has(child.keys.length))
      siblings.set(child.keys.length, child);
  }
  return siblings;
}

/** What the lists in a list are read by. */
export function listIn(model: Json | undefined): Json | undefined {
  return model instanceof JsonArray ? model.items.find((item) => item instanceof JsonArray) : undefined;
}

/** A field of an object, by its key. */
export function fieldOf(model: Json | undefined, key: string): Json | undefined {
  return model instanceof JsonObject ? model.values[model.keys.indexOf(key)] : undefined;
}
