import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { makeHome, type Paths } from '../paths.ts';
import { writing } from '../write-fault.ts';
import type { RemoteGateway } from './target.ts';

type LoginPaths = Pick<Paths, 'home' | 'login'>;

/** Stores URL and key, atomically: a key never stands beside the URL of another gw. */
export function saveLogin(paths: LoginPaths, { url, key }: Pick<RemoteGateway, 'url' | 'key'>): void {
  makeHome(paths);
  const temporary = `${paths.login}.new`;
  writing(paths.login, () => {
    writeFileSync(temporary, `${JSON.stringify({ url, key })}\n`, { mode: 0o600, flush: true });
    renameSync(temporary, paths.login);
  });
}

export function deleteLogin({ login }: LoginPaths): void {
  rmSync(login, { force: true });
}
