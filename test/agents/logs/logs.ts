import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import Database from 'better-sqlite3';

const FIXTURES = join(import.meta.dirname, 'fixtures');

/** Where agents keep logs, below the home directory. */
export const CLAUDE_FOLDER = '.claude/projects/-home-me-shop';
export const CODEX_FOLDER = '.codex/sessions/2026/11/22';

const FOLDERS: Readonly<Record<string, string>> = {
  codex: CODEX_FOLDER,
  qwen: '.qwen/projects/-home-me-shop/chats',
  gemini: '.gemini/tmp/shop/chats',
  copilot: '.copilot/session-state/9cac3fd7-48c1-4780-82af-596d3688c552',
};
const FILES: Readonly<Record<string, string>> = { copilot: 'events.jsonl' };

/**
 * Puts logs into a home. Each was written by the version in its name in runs against a scripted provider; paths are
 * changed and long texts are cut.
 */
export function addLog(home: string, name: string, folder = folderOf(name)): string {
  const file = FILES[agentOf(name)] ?? (name.startsWith('codex') ? `rollout-${name}.jsonl` : `${name}.jsonl`);
  const path = join(home, folder, file);
  mkdirSync(dirname(path), { recursive: true });
  copyFileSync(join(FIXTURES, `${name}.jsonl`), path);
  return path;
}

/** As `addLog`, a log that Codex has compressed. */
export function addCompressedLog(home: string): string {
  const path = join(home, CODEX_FOLDER, 'rollout-codex-0.169.0.jsonl.zst');
  mkdirSync(dirname(path), { recursive: true });
  copyFileSync(join(FIXTURES, 'codex-0.169.0.jsonl.zst'), path);
  return path;
}

/** The database of opencode 1.18.33 after two sessions and a fork of the second one, with one more answer. */
export function addOpencodeLog(home: string, folder = '.local/share/opencode'): string {
  const path = join(home, folder, `${folder.includes('kilo') ? 'kilo' : 'opencode'}.db`);
  mkdirSync(dirname(path), { recursive: true });
  changeDatabase(path, readFileSync(join(FIXTURES, 'opencode-1.18.33.sql'), 'utf8'));
  return path;
}

/** A session of Cline 3.0.65 with a subagent, and a copy of it. */
export function addClineLog(home: string): string {
  const session = '1795863273539_2botj';
  const folder = join(home, '.cline/data/sessions', session);
  for (const to of [folder, `${folder}-copy`]) {
    mkdirSync(to, { recursive: true });
    copyFileSync(join(FIXTURES, 'cline-3.0.65.json'), join(to, `${basename(to)}.json`));
    copyFileSync(join(FIXTURES, 'cline-3.0.65.messages.json'), join(to, `${session}.messages.json`));
    copyFileSync(join(FIXTURES, 'cline-3.0.65-agent.messages.json'), join(to, 'agent_1.messages.json'));
  }
  return join(folder, `${session}.messages.json`);
}

/** A database with the tables of Goose's schema 15 that say what calls used: written by hand, after its source. */
export function addGooseLog(home: string): string {
  const path = join(home, '.local/share/goose/sessions/sessions.db');
  mkdirSync(dirname(path), { recursive: true });
  changeDatabase(path, readFileSync(join(FIXTURES, 'goose-schema-15.sql'), 'utf8'));
  return path;
}

/** Runs SQL on a database in WAL mode, and leaves it as opencode does. */
export function changeDatabase(path: string, sql: string): void {
  const db = new Database(path);
  db.pragma('journal_mode = WAL');
  db.pragma('foreign_keys = OFF');
  db.exec(sql);
  db.close();
}

const agentOf = (name: string): string => name.slice(0, name.indexOf('-'));

const folderOf = (name: string): string => FOLDERS[agentOf(name)] ?? CLAUDE_FOLDER;
