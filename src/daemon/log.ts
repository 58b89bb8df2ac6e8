import { existsSync, renameSync, statSync } from 'node:fs';
import pino, { type Logger } from 'pino';
import type { LogLevel } from '../config/settings.ts';

export type { Logger } from 'pino';

const MAX_LOG_BYTES = 5 * 1024 * 1024;
const CHECK_EVERY_MS = 60_000;

/** Matches text that looks like a key. */
const SECRETS =
  /\b(sk-[A-Za-z0-9_-]{8,}|Bearer\s+[^\s"\\]+|whsec_[A-Za-z0-9+/=]+|gsk_\w{8,}|xai-\w{8,}|AIza[\w-]{8,})/g;

/** Replaces everything that looks like a key. */
export function redact(text: string): string {
  return text.replace(SECRETS, (secret) => `${secret.slice(0, 6)}[redacted]`);
}

/**
 * The daemon's log: JSON lines, to stderr in the foreground, else to a file. A file of 5 MB is rotated, and one old
 * file is kept as `.old`. Keys are redacted from every line.
 */
export function createLog(options: { file: string | undefined; level: LogLevel }): Logger {
  const { file, level } = options;
  if (file !== undefined) rotate(file);
  const destination = pino.destination({ dest: file ?? 2, sync: true, mkdir: false, mode: 0o600 });
  if (file !== undefined) {
    const timer = setInterval(() => rotate(file) && destination.reopen(), CHECK_EVERY_MS);
    timer.unref();
  }
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    { write: (line: string) => destination.write(redact(line)) },
  );
}

function rotate(file: string): boolean {
  if (!existsSync(file) || statSync(file).size < MAX_LOG_BYTES) return false;
  renameSync(file, `${file}.old`);
  return true;
}
