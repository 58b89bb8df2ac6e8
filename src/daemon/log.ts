import { existsSync, renameSync, statSync } from 'node:fs';
import pino, { type Logger } from 'pino';
import type { Settings } from '../config/settings.ts';
import { type Redactor, redactKeys } from '../redact.ts';

export type { Logger } from 'pino';

const MAX_LOG_BYTES = 5 * 1024 * 1024;
const CHECK_EVERY_MS = 60_000;

/**
 * The daemon's log: JSON lines, to stderr in the foreground, else to a file. Rotates a file of 5 MB and keeps one old
 * file as `.old`. Redacts keys from every line: known keys by value, others by pattern.
 */
export function createLog(options: {
  file: string | undefined;
  level: Settings['log.level'];
  secrets?: Redactor;
}): Logger {
  const { file, level, secrets } = options;
  if (file !== undefined) rotate(file);
  const destination = pino.destination({ dest: file ?? 2, sync: true, mkdir: false, mode: 0o600 });
  if (file !== undefined) {
    const timer = setInterval(() => rotate(file) && destination.reopen(), CHECK_EVERY_MS);
    timer.unref();
  }
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    { write: (line: string) => destination.write(redactKeys(secrets ? secrets.redact(line) : line)) },
  );
}

function rotate(file: string): boolean {
  if (!existsSync(file) || statSync(file).size < MAX_LOG_BYTES) return false;
  renameSync(file, `${file}.old`);
  return true;
}
