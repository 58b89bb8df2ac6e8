import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { readSecrets } from '../config/secrets.ts';
import { badRequest, GwError } from '../errors.ts';
import { makeHome, type Paths } from '../paths.ts';
import { writing } from '../write-fault.ts';

/** A gw that commands talk to over HTTP instead of opening this machine's database. */
export interface RemoteGateway {
  /** Without a trailing slash or `/v1`. */
  url: string;
  key: string;
  /** Where the URL comes from: `GW_URL` or `gw login`. */
  from: 'environment' | 'login';
}

export interface TargetContext {
  env: Readonly<Record<string, string | undefined>>;
  paths: Pick<Paths, 'login'>;
}

/**
 * The remote gw of `GW_URL` and `GW_KEY`, else the one of `gw login`; null for this machine's gw. An empty `GW_URL`
 * means this machine even after a login. Throws GwError for a malformed URL, and for a URL without a key.
 */
export function remoteGateway(context: TargetContext): RemoteGateway | null {
  const { env, paths } = context;
  if (env.GW_URL === '') return null;
  const text = env.GW_URL ?? readSecrets(paths.login).url;
  if (text === undefined) return null;
  const url = parseGatewayUrl(text, env.GW_URL === undefined ? paths.login : 'GW_URL');
  const key = keyFor(context, url);
  if (key !== undefined) return { url, key, from: env.GW_URL === undefined ? 'login' : 'environment' };
  throw new GwError(`there is no key for ${url}: export GW_KEY=KEY, or: gw login ${url}`, {
    status: 401,
    type: 'authentication_error',
    code: 'key_missing',
  });
}

/** The key for a gw: `GW_KEY`, else that of `gw login` if it was for this URL. */
export function keyFor({ env, paths }: TargetContext, url: string): string | undefined {
  if (env.GW_KEY) return parseGatewayKey(env.GW_KEY, 'GW_KEY');
  const login = readSecrets(paths.login);
  return login.url === url && login.key !== undefined ? parseGatewayKey(login.key, paths.login) : undefined;
}

/** The URL without a trailing slash or `/v1`, which is part of clients' base URLs. `source` names it in errors. */
export function parseGatewayUrl(text: string, source: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    throw badRequest(`${source} "${text}" is not the URL of a gw: use one such as https://gw.example.com`);
  if (url.username || url.password || url.search || url.hash) {
    throw badRequest(
      `${source}: the URL of a gw has no user, password, query or fragment, and its key goes into GW_KEY: use one such as https://gw.example.com`,
    );
  }
  return `${url.origin}${url.pathname.replace(/(?<!\/)\/+$/, '').replace(/\/v1$/, '')}`;
}

/** A key without surrounding whitespace. Throws, without quoting it, if it can't be sent in a header. */
export function parseGatewayKey(text: string, source: string): string {
  const key = text.trim();
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw badRequest(`${source} is not a key of gw: a key is one word that begins with sk-gw-`);
}

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
