import { copyFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';

const FIXTURES = join(import.meta.dirname, 'fixtures');

/** Where agents keep logs, below the home directory. */
export const CLAUDE_FOLDER = '.claude/projects/-home-me-shop';
export const CODEX_FOLDER = '.codex/sessions/2026/11/22';

/**
 * Puts logs into a home. Each was written by the version in its name in runs against a scripted provider; paths are
 * changed and long texts are cut.
 */
export function addLog(home: string, name: string, folder = folderOf(name)): string {
  const file = name.startsWith('codex') ? `rollout-${name}.jsonl` : `${name}.jsonl`;
  const path = join(home, folder, file);
  mkdirSync(dirname(path), { recursive: true });
  copyFileSync(join(FIXTURES, `${name}.jsonl`), path);
  return path;
}

function folderOf(name: string): string {
  return name.startsWith('codex') ? CODEX_FOLDER : CLAUDE_FOLDER;
}
