import type { Start } from '../../../src/agents/run/start.ts';

export const ORIGIN = 'http://localhost:4747';
export const KEY = 'sk-gw-run';
export const FOLDER = '/tmp/gw-run';

interface Setting extends Partial<Omit<Start, 'files'>> {
  /** Texts by path; values that are no text become JSON. */
  files?: Record<string, unknown>;
}

/** What an agent is started with, on a file system of these files. */
export function startOf({ files = {}, ...start }: Setting = {}): Start {
  const texts = new Map(
    Object.entries(files).map(([path, value]) => [
      path,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  );
  const below = (folder: string) =>
    [...texts.keys()].flatMap((path) =>
      path.startsWith(`${folder}/`) ? (path.slice(folder.length + 1).split('/')[0] ?? '') : [],
    );
  return {
    args: [],
    env: {},
    cwd: '/work',
    home: '/home/me',
    platform: 'linux',
    origin: ORIGIN,
    key: KEY,
    subscription: false,
    ownApis: { anthropic: false, openai: false },
    folder: FOLDER,
    files: { read: (path) => texts.get(path), list: (folder) => [...new Set(below(folder))] },
    ...start,
  };
}
