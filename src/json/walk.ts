/**
 * Walks JSON text that was scanned before, in one pass. A visitor gets the start of each value and returns its end, by
 * walking the value or by `skipValue`. Throws JsonSyntaxError.
 */
import { CLOSE_BRACE, CLOSE_BRACKET, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE, type Range } from './bytes.ts';
import { JsonSyntaxError, type Member, readKey, skipSpace, skipString, skipValue } from './scan.ts';

/** Walks the members of the object at `start`. Returns the end of the object. */
export function walkObject(
  bytes: Buffer,
  start: number,
  visit: (key: string, valueStart: number, keyStart: number) => number,
): number {
  if (bytes[start] !== OPEN_BRACE) throw new JsonSyntaxError('an object was expected', start);
  let position = skipSpace(bytes, start + 1);
  if (bytes[position] === CLOSE_BRACE) return position + 1;
  for (;;) {
    const keyEnd = skipString(bytes, position);
    const valueStart = skipSpace(bytes, skipSpace(bytes, keyEnd) + 1);
    position = skipSpace(bytes, visit(readKey(bytes, position, keyEnd), valueStart, position));
    if (bytes[position] === CLOSE_BRACE) return position + 1;
    if (bytes[position] !== COMMA) throw new JsonSyntaxError('a comma or } was expected', position);
    position = skipSpace(bytes, position + 1);
  }
}

/** Walks the elements of the array at `start`. Returns the end of the array. */
export function walkArray(
  bytes: Buffer,
  start: number,
  visit: (elementStart: number, index: number) => number,
): number {
  if (bytes[start] !== OPEN_BRACKET) throw new JsonSyntaxError('an array was expected', start);
  const first = skipSpace(bytes, start + 1);
  if (bytes[first] === CLOSE_BRACKET) return first + 1;
  let index = 0;
  return walkRest(bytes, visit(first, 0), (elementStart) => visit(elementStart, ++index));
}

/** Walks the remaining elements of an array after the one that ends at `end`. Returns the end of the array. */
export function walkRest(bytes: Buffer, end: number, visit: (elementStart: number) => number): number {
  let position = end;
  for (;;) {
    position = skipSpace(bytes, position);
    if (bytes[position] === CLOSE_BRACKET) return position + 1;
    if (bytes[position] !== COMMA) throw new JsonSyntaxError('a comma or ] was expected', position);
    position = visit(skipSpace(bytes, position + 1));
  }
}

/** Adds the members of the object at `start` to `members`. Returns the end of the object. */
export function readMembers(bytes: Buffer, start: number, members: Member[]): number {
  return walkObject(bytes, start, (key, valueStart, keyStart) => {
    const end = skipValue(bytes, valueStart);
    members.push({ key, keyStart, start: valueStart, end });
    return end;
  });
}

/** The string in a range; undefined for any other value. */
export function stringAt(bytes: Buffer, { start, end }: Range): string | undefined {
  return bytes[start] === QUOTE ? readKey(bytes, start, end) : undefined;
}
