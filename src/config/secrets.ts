import { readFileSync } from 'node:fs';
import { reasonOf } from '../write-fault.ts';
import { SettingError } from './setting-error.ts';
import { lineAndColumn, parseBytes } from './settings-file.ts';

/** Name of the team database's connection string among the provider keys. No provider can have this name. */
export const TEAM_URL = '@team';

/** Reads a flat JSON file of keys by provider or project name. Empty if the file doesn't exist. Throws SettingError. */
export function readSecrets(file: string): Record<string, string> {
  let content: string;
  try {
    content = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    const { why, mend } = reasonOf(file, error, 'read');
    throw new SettingError(`cannot read ${file}: ${why}. ${mend ?? 'Run: gw doctor'}`);
  }
  const secrets = parsePrivate(content, file);
  const [odd] = Object.entries(secrets).find(([, value]) => typeof value !== 'string') ?? [];
  if (odd !== undefined) throw new SettingError(`${file} has no text for "${odd}". Run: gw doctor`);
  return secrets as Record<string, string>;
}

/** Parses a JSON object that may contain keys. Drops JSON.parse's own message, which quotes the text. */
export function parsePrivate(content: string, file: string): Record<string, unknown> {
  const bytes = Buffer.from(content);
  const parsed = parseBytes(bytes);
  if ('value' in parsed) return parsed.value;
  const [line, column] = lineAndColumn(bytes, parsed.offset).split(':');
  throw new SettingError(`${file} ${parsed.message} (line ${line}, column ${column}). Run: gw doctor`);
}
