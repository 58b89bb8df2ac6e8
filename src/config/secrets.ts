import { readFileSync } from 'node:fs';
import { isObject } from '../json/object.ts';

/** Reads a flat JSON file of keys by provider or project name. Empty if there is no such file. */
export function readSecrets(file: string): Record<string, string> {
  let content: string;
  try {
    content = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
  const parsed = parsePrivate(content, file);
  if (!isObject(parsed)) return {};
  return Object.fromEntries(
    Object.entries(parsed).filter((e): e is [string, string] => typeof e[1] === 'string'),
  );
}

/** Parses a file that may hold keys. JSON.parse's own message is dropped because it quotes the text. */
export function parsePrivate(content: string, file: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    throw new Error(`${file} is not JSON. Run: gw doctor`);
  }
}
