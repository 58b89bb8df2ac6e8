import type { PeerCertificate } from 'node:tls';
import { isCertificateError } from '../../network/connect-error.ts';
import type { Network } from '../../network/network.ts';
import { type WayOut, wayText } from '../../network/way-out.ts';
import { signedHeaders } from '../../providers/clouds/signed-headers.ts';
import { withoutKey } from '../../providers/model-lists.ts';
import { type Provider, WIRE_HEADERS } from '../../providers/registry.ts';
import { headersByName } from '../../raw-headers.ts';
import { plural } from '../../terminal/numbers.ts';

/** The result of asking a provider for its models. */
export interface Probe {
  name: string;
  ok: boolean;
  /** No response came from its address. */
  unreachable?: boolean;
  /** A base URL at which it does list its models. */
  better?: string;
  message: string;
  durationMs: number;
  /** Undefined if the provider can't be used at all. */
  way?: WayOut;
  /** HTTP status of its answer. */
  status?: number;
  /** Number of models in its list. */
  models?: number;
}

type Outcome = Omit<Probe, 'name' | 'durationMs'>;

interface ProbeOptions {
  network: Network;
  monotonic: () => number;
}

const TIMEOUT_MS = 10_000;

/** Asks a provider for its models, which costs nothing and shows whether it is reachable and accepts the key. */
export async function probeProvider(
  provider: Provider,
  { network, monotonic }: ProbeOptions,
): Promise<Probe> {
  const start = monotonic();
  const outcome = await tryProvider(provider, network);
  return { name: provider.name, ...outcome, durationMs: Math.round(monotonic() - start) };
}

async function tryProvider(provider: Provider, network: Network): Promise<Outcome> {
  const url = new URL(`${provider.origin}${provider.basePath}/models`);
  let way: WayOut | undefined;
  try {
    way = network.wayTo(url, provider.ownProxy);
    const { status, body } = await ask(url, provider, network);
    const outcome = judge(provider, way, status, body);
    const isNoList = outcome.ok && outcome.models === undefined;
    const better = isNoList && !provider.cloud ? await addressBeside(provider, network) : undefined;
    if (better === undefined) return { ...outcome, way, status };
    return { ok: false, better, message: wrongAddress(provider, better, status), way, status };
  } catch (error) {
    const why = withoutKey(error, provider) || String(error);
    const { code, name } = error as NodeJS.ErrnoException;
    const reason = name === 'TimeoutError' ? `no response within ${TIMEOUT_MS / 1000} s` : why;
    const signer = isCertificateError(code) ? await signerOf(url, provider, network) : '';
    const message = `cannot reach ${provider.origin}: ${reason}${signer}`;
    return { ok: false, unreachable: true, message, ...(way ? { way } : {}) };
  }
}

/** The base URL with the version, or without one too many, if the provider lists its models there. */
async function addressBeside(provider: Provider, network: Network): Promise<string | undefined> {
  const { origin, basePath } = provider;
  const parts = basePath.split('/');
  const upToVersion = parts.slice(0, parts.findIndex((part) => /^v\d/.test(part)) + 1).join('/') || '/v1';
  for (const path of new Set([`${basePath}/v1`, upToVersion, '/v1'])) {
    if (path === basePath) continue;
    const answer = await ask(new URL(`${origin}${path}/models`), provider, network).catch(() => undefined);
    if (answer && hasModels(answer)) return origin + path;
  }
  return undefined;
}

const hasModels = ({ status, body }: { status: number; body: unknown }): boolean =>
  status === 200 && Array.isArray((body as { data?: unknown } | null)?.data);

function wrongAddress({ name, origin, basePath }: Provider, better: string, status: number): string {
  return `there is no API at ${origin}${basePath} (HTTP ${status}), but at ${better}. Run: gw providers add ${name} --base-url ${better}`;
}

async function ask(
  url: URL,
  provider: Provider,
  network: Network,
): Promise<{ status: number; body: unknown }> {
  const { request } = await import('undici');
  const { statusCode, body } = await request(url, {
    dispatcher: network.open(url, { own: provider.ownProxy, connectTimeoutMs: TIMEOUT_MS }),
    headers: headersByName([...WIRE_HEADERS[provider.wire], ...(await signedHeaders(provider, url))]),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  return { status: statusCode, body: await body.json().catch(() => undefined) };
}

/** Whose certificate was refused: it is fetched once more, and the connection closed before a request. */
async function signerOf(url: URL, provider: Provider, network: Network): Promise<string> {
  const { request } = await import('undici');
  let certificate: PeerCertificate | undefined;
  await request(url.origin, {
    method: 'HEAD',
    dispatcher: network.open(url, {
      own: provider.ownProxy,
      onCertificate: (shown) => {
        certificate = shown;
      },
    }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch(() => undefined);
  const nameOf = (of: PeerCertificate['issuer'] | undefined) => of?.CN ?? of?.O;
  const [subject, issuer] = [nameOf(certificate?.subject), nameOf(certificate?.issuer)];
  return subject || issuer ? `. It is for "${subject ?? '?'}", issued by "${issuer ?? '?'}"` : '';
}

function judge(
  provider: Provider,
  way: WayOut,
  status: number,
  body: unknown,
): Pick<Probe, 'ok' | 'message' | 'models'> {
  if (status === 407)
    return { ok: false, message: `the proxy wants a user and password (HTTP 407), ${wayText(way)}` };
  if (status === 401 || status === 403) {
    return {
      ok: false,
      message: `${refusal(provider)} (HTTP ${status}). Run: gw providers add ${provider.name}`,
    };
  }
  const list = (body as { data?: unknown } | undefined | null)?.data;
  if (status === 200 && Array.isArray(list))
    return { ok: true, message: plural(list.length, 'model'), models: list.length };
  if (status === 200) return { ok: true, message: 'reachable' };
  // Some services do not list their models. Any answer shows that the address is right.
  if (status === 404 || status === 405)
    return { ok: true, message: `reachable, without a list of models (HTTP ${status})` };
  return { ok: false, message: `it answered HTTP ${status}` };
}

function refusal({ keySource }: Provider): string {
  if (keySource === 'none') return 'it requires a key, and none is configured';
  return keySource === 'stored' ? 'it refused the stored key' : `it refused the key from ${keySource}`;
}

/** A way for `--json`: the proxy's address is shown without a password. */
export function wayJson(way: WayOut | undefined): {
  way_out: 'direct' | 'proxy' | null;
  proxy: string | null;
} {
  if (!way) return { way_out: null, proxy: null };
  return way.proxy ? { way_out: 'proxy', proxy: way.proxy.origin } : { way_out: 'direct', proxy: null };
}
