import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../json/object.ts';
import {
  type Change,
  type Format,
  isElement,
  type Path,
  pathText,
  SettingsConflict,
  SettingsSyntaxError,
  type SettingValue,
} from './change.ts';
import { dotenv } from './dotenv.ts';
import { json } from './json.ts';
import { toml } from './toml.ts';
import { yaml } from './yaml.ts';

export const FORMATS = { dotenv, json, toml, yaml } as const satisfies Record<string, Format>;
export type FormatName = keyof typeof FORMATS;

/** A value that gw wrote, with the value that it replaced. */
export interface WrittenValue {
  path: Path;
  value: SettingValue | null;
  /** Source text of the former value; null if there was none. */
  former: string | null;
  isDefault?: boolean;
  /** Number of the path's steps that existed before. */
  depth: number;
}

const BOM = '\ufeff';

/** Writes values into a file's bytes. Throws if an edit would change anything else. */
export function writeValues(
  name: FormatName,
  bytes: Buffer | undefined,
  wanted: readonly Change[],
): { bytes: Buffer; values: WrittenValue[] } {
  const format = FORMATS[name];
  const { mark, text } = decode(bytes);
  const before = format.parse(text);
  const changes = wanted.filter(({ path, isDefault }) => !isDefault || valueAt(before, path) === undefined);
  const values = changes.map((change) => ({
    ...change,
    former: format.source(text, change.path) ?? null,
    depth: depthOf(before, change.path),
  }));
  // What is new goes first: the only line ending of a text may be inside of a value that is replaced.
  const ordered = [
    ...values.filter(({ former }) => former === null),
    ...values.filter(({ former }) => former !== null),
  ];
  const edited = ordered.reduce((each, change) => changeOne(format, each, change), text);
  const after = parseEdited(format, edited);
  const wrong = changes.find(({ path, value }) => !isDeepStrictEqual(valueAt(after, path) ?? null, value));
  if (wrong) throw new SettingsConflict(`${pathText(wrong.path)} cannot be set where it stands`);
  requireSameRest(before, after, changes);
  return { bytes: encode(mark, edited), values };
}

/** Written values that the file no longer has. */
export function changedValues(
  name: FormatName,
  bytes: Buffer | undefined,
  values: readonly WrittenValue[],
): WrittenValue[] {
  const value = FORMATS[name].parse(decode(bytes).text);
  return values.filter(
    ({ path, value: written, isDefault }) =>
      !isDefault && !isDeepStrictEqual(valueAt(value, path) ?? null, written),
  );
}

/** Restores former values, except those changed since (unless `force`). Removes empty parents that gw created. */
export function restoreValues(
  name: FormatName,
  bytes: Buffer | undefined,
  { values, force = false }: { values: readonly WrittenValue[]; force?: boolean },
): { bytes: Buffer; left: WrittenValue[] } {
  const format = FORMATS[name];
  const { mark, text } = decode(bytes);
  const changed = changedValues(name, bytes, values).filter(
    ({ path, former }) => (format.source(text, path) ?? null) !== former,
  );
  const left = force ? [] : changed;
  const restored = values.filter((each) => !left.includes(each));
  const edited = restored.reduceRight((each, value) => restoreOne(format, each, value), text);
  requireSameRest(format.parse(text), parseEdited(format, edited), restored);
  return { bytes: encode(mark, edited), left };
}

function changeOne(format: Format, text: string, { path, value }: Change): string {
  if (value !== null) return format.set(text, path, format.print(value));
  return format.source(text, path) === undefined ? text : format.remove(text, path);
}

function restoreOne(format: Format, text: string, { path, former, depth }: WrittenValue): string {
  if (former !== null) return format.set(text, path, former, format.source(text, path) !== undefined);
  let edited = format.source(text, path) === undefined ? text : format.remove(text, path);
  for (let length = path.length - 1; length > depth; length--) {
    const parent = path.slice(0, length);
    const value = valueAt(format.parse(edited), parent);
    if (value === undefined || !isEmpty(value)) break;
    edited = format.remove(edited, parent);
  }
  return edited;
}

/** Whether a file has neither settings nor comments. */
export function isBlank(name: FormatName, bytes: Buffer): boolean {
  const { text } = decode(bytes);
  return /^[\s{}[\]]*$/.test(text) && isEmpty(FORMATS[name].parse(text) ?? null);
}

function isEmpty(value: unknown): boolean {
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0);
}

function decode(bytes: Buffer | undefined): { mark: string; text: string } {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes ?? Buffer.alloc(0));
  } catch {
    throw new SettingsSyntaxError('not UTF-8');
  }
  return text.startsWith(BOM) ? { mark: BOM, text: text.slice(1) } : { mark: '', text };
}

const encode = (mark: string, text: string): Buffer => Buffer.from(mark + text);

function parseEdited(format: Format, text: string): unknown {
  try {
    return format.parse(text);
  } catch (cause) {
    throw new SettingsConflict('gw cannot edit it without breaking it', { cause });
  }
}

/** Checks every edit, because the editors handle the usual ways to write these formats, not all. */
function requireSameRest(before: unknown, after: unknown, changes: readonly { path: Path }[]): void {
  const rest = (value: unknown) => changes.reduce<unknown>((each, { path }) => without(each, path), value);
  if (!isDeepStrictEqual(rest(before), rest(after)))
    throw new SettingsConflict('gw cannot edit it without changing other values');
}

/** A copy of a value without the value at `path` and without parents that become empty. */
function without(value: unknown, path: Path): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return undefined;
  if (value === null || value === undefined) return undefined;
  if (typeof step === 'string') {
    if (!isObject(value)) return value;
    const { [step]: inner, ...others } = value;
    const kept = without(inner, rest);
    const result = kept === undefined ? others : { ...value, [step]: kept };
    return Object.keys(result).length === 0 ? undefined : result;
  }
  if (!Array.isArray(value)) return value;
  const result = value.flatMap((each: unknown) => {
    if (!isElement(each, step)) return [each];
    const kept = without(each, rest);
    return kept === undefined ? [] : [kept];
  });
  return result.length === 0 ? undefined : result;
}

/** The value at a path; undefined if there is none. */
export function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((each, step) => inside(each, step), value);
}

function inside(value: unknown, step: Path[number]): unknown {
  if (typeof step === 'string')
    return isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
  return Array.isArray(value) ? value.findLast((each) => isElement(each, step)) : undefined;
}

function depthOf(value: unknown, path: Path): number {
  const missing = path.findIndex((_, i) => valueAt(value, path.slice(0, i + 1)) === undefined);
  return missing < 0 ? path.length : missing;
}
