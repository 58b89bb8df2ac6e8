/** A step of a path: a member's name, or an element of a list. */
export type Step = string | ElementStep;

/** Selects the element whose member `by` equals `text`; without `by`, the string that begins with `text`. */
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

/** A value to write at a path. Missing parents are created. */
export interface Change {
  path: Path;
  /** Null removes the value. */
  value: SettingValue | null;
  /** Written only if no value exists. A later change by others doesn't count as a conflict. */
  isDefault?: boolean;
}

/**
 * Reads and edits texts of one format. An edit replaces only byte ranges: comments, order, spacing and unknown keys
 * stay. Throws SettingsSyntaxError if a text isn't valid, SettingsConflict if a path leads through a value other than
 * an object or a list.
 */
export interface Format {
  /** Parses a text; undefined if it is empty. */
  parse(text: string): unknown;
  /** The source text of the value at a path; undefined if there is none. */
  source(text: string, path: Path): string | undefined;
  /** The source text of a value. */
  print(value: SettingValue): string;
  /** Writes a source text at a path. `isRaw`: the source is the former value, already indented. */
  set(text: string, path: Path, source: string, isRaw?: boolean): string;
  /** Removes the value at a path, with its line if nothing else is on it. */
  remove(text: string, path: Path): string;
}

/** The text of a settings file is invalid in its format. */
export class SettingsSyntaxError extends Error {
  override readonly name = 'SettingsSyntaxError';
}

/** A path leads through a value without members. */
export class SettingsConflict extends Error {
  override readonly name = 'SettingsConflict';
}

/** A path in readable form: `env.ANTHROPIC_BASE_URL`, `models[gw]`. */
export function pathText(path: Path): string {
  return path
    .map((step, i) => (typeof step === 'string' ? `${i > 0 ? '.' : ''}${step}` : `[${step.text}]`))
    .join('');
}

/** Whether a step selects an element of a list. */
export function isElement(element: unknown, { by, text }: ElementStep): boolean {
  if (by === undefined) return typeof element === 'string' && element.startsWith(text);
  return typeof element === 'object' && element !== null && (element as Record<string, unknown>)[by] === text;
}
