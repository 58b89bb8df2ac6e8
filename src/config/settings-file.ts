import { readFileSync } from 'node:fs';
import { messageOf } from '../errors.ts';
import { isObject, jsonOf } from '../json/object.ts';
import { JsonSyntaxError, scanObject } from '../json/scan.ts';

/** The content of the settings file and its problems. */
export interface SettingsText {
  stored: Record<string, unknown>;
  /** Messages that begin with `file:line:column`. */
  problems: string[];
  /** Adds a problem at a path of keys. */
  report(path: readonly string[], message: string): void;
}

/** Reads a settings file, which may not exist. Doesn't throw: whatever makes the file unusable becomes a problem. */
export function readSettingsText(file: string): SettingsText {
  const problems: string[] = [];
  const none = { stored: {}, problems, report: () => {} };
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      problems.push(`cannot read ${file}: ${messageOf(error)}`);
    return none;
  }
  const reportAt = (offset: number, message: string) =>
    problems.push(`${file}:${lineAndColumn(bytes, offset)}: ${message}`);
  const parsed = parseBytes(bytes);
  if ('offset' in parsed) {
    reportAt(parsed.offset, `the file ${parsed.message}. Correct it, or move it away`);
    return none;
  }
  for (const { offset, key } of duplicates(bytes))
    reportAt(offset, `"${key}" is here a second time. Delete one of the two`);
  return {
    stored: parsed.value,
    problems,
    report: (path, message) => reportAt(offsetOf(bytes, path), message),
  };
}

/** Converts a byte offset to a position such as `12:3`; both numbers count from 1. */
export function lineAndColumn(bytes: Buffer, offset: number): string {
  const before = bytes.toString('utf8', 0, offset).replace(/^\uFEFF/, '');
  const lines = before.split('\n');
  return `${lines.length}:${(lines.at(-1) ?? '').length + 1}`;
}

/** Parses a JSON object, or returns the error and its offset. Messages don't quote the text, which may contain keys. */
export function parseBytes(
  bytes: Buffer,
): { value: Record<string, unknown> } | { message: string; offset: number } {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8').replace(/^\uFEFF/, ''));
    return isObject(value) ? { value } : { message: 'is not a JSON object', offset: 0 };
  } catch {
    return syntaxError(bytes);
  }
}

function syntaxError(bytes: Buffer): { message: string; offset: number } {
  try {
    const broken = scanObject(bytes).find(({ start, end }) => !isJson(bytes.toString('utf8', start, end)));
    return { message: 'is not JSON: a bad value', offset: broken?.start ?? 0 };
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    const reason = error.message.replace(/ at byte \d+$/, '');
    return { message: `is not JSON: ${reason}`, offset: error.position };
  }
}

const isJson = (text: string): boolean => jsonOf(text) !== undefined;

interface Place {
  path: string[];
  offset: number;
  key: string;
}

/** All keys of the file's objects, including nested ones. */
function* places(bytes: Buffer, path: string[] = [], base = 0): Generator<Place> {
  for (const { key, keyStart, start, end } of scanObject(bytes)) {
    const inner = [...path, key];
    yield { path: inner, offset: base + keyStart, key };
    if (bytes[start] === 0x7b) yield* places(bytes.subarray(start, end), inner, base + start);
  }
}

/** Duplicate keys. JSON.parse silently keeps only the last one. */
function duplicates(bytes: Buffer): Place[] {
  const seen = new Set<string>();
  return [...places(bytes)].filter(({ path }) => {
    const id = JSON.stringify(path);
    const isSecond = seen.has(id);
    seen.add(id);
    return isSecond;
  });
}

function offsetOf(bytes: Buffer, path: readonly string[]): number {
  const id = JSON.stringify(path);
  for (const place of places(bytes)) if (JSON.stringify(place.path) === id) return place.offset;
  return 0;
}
