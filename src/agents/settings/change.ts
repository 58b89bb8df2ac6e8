/** A step to a value: the name of a member, or an element of a list. */
export type Step = string | ElementStep;

/** The element whose member `by` equals `text`; without `by`, the string that begins with `text`. */
export interface ElementStep {
  by?: string;
  text: string;
}

export type Path = readonly Step[];

export type SettingValue =
  | string
  | number
  | boolean
  | readonly SettingValue[]
  | { readonly [key: string]: SettingValue };

/** A value that gw writes at a path. Missing parents are created. */
export interface Change {
  path: Path;
  /** Null takes away what is there. */
  value: SettingValue | null;
  /** Written only where there is no value. What others make of it later doesn't count as a change of gw's. */
  isDefault?: boolean;
}

/**
 * Reads and edits texts of one format. An edit replaces byte ranges only: comments, order, spacing and unknown keys stay
 * as they are. Throws SettingsSyntaxError for a text that isn't of the format, SettingsConflict for a path that leads
 * through something else than objects and lists.
 */
export interface Format {
  /** The plain value of a text; undefined for an empty one. */
  parse(text: string): unknown;
  /** The source of the value at a path, undefined where there is none. */
  source(text: string, path: Path): string | undefined;
  /** The source of a value. */
  print(value: SettingValue): string;
  /**
   * Writes the source of a value at a path. `isRaw` is for the former source of a value that stands there: its lines have
   * their indentation already.
   */
  set(text: string, path: Path, source: string, isRaw?: boolean): string;
  /** Removes the value at a path, with its line where it has one to itself. */
  remove(text: string, path: Path): string;
}

/** The text of a settings file isn't of its format. */
export class SettingsSyntaxError extends Error {
  override readonly name = 'SettingsSyntaxError';
}

/** A path leads through a value that has no members. */
export class SettingsConflict extends Error {
  override readonly name = 'SettingsConflict';
}

/** A path for people: `env.ANTHROPIC_BASE_URL`, `models[gw]`. */
export function pathText(path: Path): string {
  return path
    .map((step, i) => (typeof step === 'string' ? `${i > 0 ? '.' : ''}${step}` : `[${step.text}]`))
    .join('');
}

/** Whether an element of a list is the one that a step names. */
export function isElement(element: unknown, { by, text }: ElementStep): boolean {
  if (by === undefined) return typeof element === 'string' && element.startsWith(text);
  return typeof element === 'object' && element !== null && (element as Record<string, unknown>)[by] === text;
}
