import { type Json, JsonArray, readWhole } from '../../../src/compression/json/read.ts';
import type { JsonChange } from '../../../src/compression/repeats/references.ts';

const IS_KEY = /^"(?:[^"\\]|\\.)*"$/;

/** The earlier JSON text with the changes made, without white space; undoes `diffJson`. */
export function applyJsonChanges(before: string, changes: readonly JsonChange[]): string {
  const after = new Map(changes.map((change) => [change.path, change.after]));
  const root = readWhole(before);
  if (root === undefined) throw new Error('not JSON');
  const write = (value: Json, path: string): string => {
    const changed = after.get(path);
    if (changed !== undefined) return changed;
    if (typeof value === 'string') return value;
    if (value instanceof JsonArray)
      return `[${value.items.map((item, i) => write(item, `${path}[${i}]`)).join(',')}]`;
    const fields = value.keys.map((key, i) => `${key}:${write(value.values[i] ?? 'null', `${path}.${key}`)}`);
    for (const [place, text] of after) {
      const key = place.startsWith(`${path}.`) ? place.slice(path.length + 1) : '';
      if (IS_KEY.test(key) && !value.keys.includes(key)) fields.push(`${key}:${text}`);
    }
    return `{${fields.join(',')}}`;
  };
  return write(root, '');
}
