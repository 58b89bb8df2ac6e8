import { type ParseError, parse } from 'jsonc-parser';
import { parse as parseYamlText } from 'yaml';
import { isObject } from '../../json/object.ts';

export type Json = Record<string, unknown>;

/** Parses a JSON object that may have comments and trailing commas; undefined if the text is no such object. */
export function parseObject(text: string | undefined): Json | undefined {
  const errors: ParseError[] = [];
  const value: unknown = parse(text ?? '', errors, { allowTrailingComma: true });
  return errors.length === 0 && isObject(value) ? value : undefined;
}

/** A member that is an object; empty if it is missing or has another type. */
export function objectIn(parent: unknown, name: string): Json {
  const value = isObject(parent) ? parent[name] : undefined;
  return isObject(value) ? value : {};
}

/** A member that is a string. */
export function textIn(parent: unknown, name: string): string | undefined {
  const value = isObject(parent) ? parent[name] : undefined;
  return typeof value === 'string' ? value : undefined;
}

/** Parses a YAML mapping; undefined if the text is none. */
export function parseYaml(text: string | undefined): Json | undefined {
  try {
    const value: unknown = parseYamlText(text ?? '');
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
