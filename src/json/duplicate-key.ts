import { skipValue } from './scan.ts';
import { walkArray, walkObject } from './walk.ts';

const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;

/** A key that stands twice in an object of the value at `start`, at any depth: parsers take the first or the last. */
export function duplicateKey(bytes: Buffer, start: number): string | undefined {
  let found: string | undefined;
  function visit(at: number): number {
    if (bytes[at] === OPEN_BRACKET) return walkArray(bytes, at, visit);
    if (bytes[at] !== OPEN_BRACE) return skipValue(bytes, at);
    const keys = new Set<string>();
    return walkObject(bytes, at, (key, valueStart) => {
      if (keys.has(key)) found ??= key;
      keys.add(key);
      return visit(valueStart);
    });
  }
  visit(start);
  return found;
}
