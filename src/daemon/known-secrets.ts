import { readSecrets } from '../config/secrets.ts';
import type { Settings } from '../config/settings.ts';
import type { Paths } from '../paths.ts';
import type { Registry } from '../providers/registry.ts';
import { proxySecrets } from '../proxy-address.ts';
import type { Db } from '../store/database/open.ts';

/** Keys that people make up for local servers, such as `ollama`, are words that errors may use. */
const MIN_KEY_LENGTH = 8;

interface Sources {
  db: Db;
  paths: Pick<Paths, 'cliKeys'>;
  env: Readonly<Record<string, string | undefined>>;
}

/** What gw must not write anywhere: the keys of providers, the passwords of proxies, the secrets of webhooks, and the keys that its own CLI uses. */
export function knownSecrets(
  { registry, settings }: { registry: Registry; settings: Settings },
  { db, paths, env }: Sources,
): string[] {
  const keys = [...registry.providers.values()].flatMap(({ authHeaders }) =>
    authHeaders.filter((_, i) => i % 2 === 1),
  );
  const webhooks = db
    .prepare<[], string>(
      'SELECT secret FROM webhook_endpoints UNION SELECT old_secret FROM webhook_endpoints WHERE old_secret IS NOT NULL',
    )
    .pluck()
    .all();
  const proxies = [
    settings['proxy.url'],
    ...[...registry.providers.values()].map(({ ownProxy }) => ownProxy?.address),
    ...['HTTP_PROXY', 'HTTPS_PROXY'].flatMap((name) => [env[name], env[name.toLowerCase()]]),
  ].flatMap((address) => (address ? proxySecrets(address) : []));
  return [...keys, ...proxies, ...webhooks, ...cliKeys(paths)].filter(
    ({ length }) => length >= MIN_KEY_LENGTH,
  );
}

function cliKeys({ cliKeys: file }: Pick<Paths, 'cliKeys'>): string[] {
  try {
    return Object.values(readSecrets(file));
  } catch {
    // The commands that need it say so.
    return [];
  }
}
