import { isLoopback } from '../loopback.ts';
import type { Settings } from './settings.ts';
import { speaksTls, type TlsSettings } from './tls.ts';

/** Warning for a gw that other machines can reach; undefined on loopback. */
export function exposureOf(settings: TlsSettings & Pick<Settings, 'host'>, port: number): string | undefined {
  const { host } = settings;
  if (isLoopback(host)) return undefined;
  const isTls = speaksTls(settings);
  const address = `${isTls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const inClear = isTls
    ? ''
    : ' Without TLS, prompts and keys travel in clear text. To encrypt them: gw restart --tls-cert FILE --tls-key FILE.';
  return `gw listens on ${address}: other machines can reach it and need only a key.${inClear} To close it: gw restart --host localhost`;
}
