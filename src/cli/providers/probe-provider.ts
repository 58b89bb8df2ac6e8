import { withoutKey } from '../../providers/model-lists.ts';
import type { Provider } from '../../providers/registry.ts';
import { headersByName } from '../../raw-headers.ts';
import { plural } from '../../terminal/numbers.ts';
import { httpGet } from '../daemon/http.ts';

/** The result of asking a provider for its models. */
export interface Probe {
  name: string;
  ok: boolean;
  /** No response came from its address. */
  unreachable?: boolean;
  message: string;
  durationMs: number;
}

const TIMEOUT_MS = 10_000;

/** Asks a provider for its models, which costs nothing and shows whether it is reachable and accepts the key. */
export async function probeProvider(provider: Provider, monotonic: () => number): Promise<Probe> {
  const start = monotonic();
  const outcome = await tryProvider(provider);
  return { name: provider.name, ...outcome, durationMs: Math.round(monotonic() - start) };
}

async function tryProvider(provider: Provider): Promise<Omit<Probe, 'name' | 'durationMs'>> {
  const url = `${provider.origin}${provider.basePath}/models`;
  try {
    const { status, body } = await httpGet(url, { headers: headersFor(provider), timeoutMs: TIMEOUT_MS });
    return judge(provider, status, body);
  } catch (error) {
    const why = withoutKey(error, provider) || String(error);
    return { ok: false, unreachable: true, message: `cannot reach ${provider.origin}: ${why}` };
  }
}

function judge(provider: Provider, status: number, body: unknown): { ok: boolean; message: string } {
  if (status === 401 || status === 403) {
    return {
      ok: false,
      message: `${refusal(provider)} (HTTP ${status}). Run: gw providers add ${provider.name}`,
    };
  }
  const list = (body as { data?: unknown } | undefined | null)?.data;
  if (status === 200)
    return { ok: true, message: Array.isArray(list) ? plural(list.length, 'model') : 'reachable' };
  // Some services do not list their models. Any answer shows that the address is right.
  if (status === 404 || status === 405)
    return { ok: true, message: `reachable, without a list of models (HTTP ${status})` };
  return { ok: false, message: `it answered HTTP ${status}` };
}

function refusal({ keySource }: Provider): string {
  if (keySource === 'none') return 'it requires a key, and none is configured';
  return keySource === 'stored' ? 'it refused the stored key' : `it refused the key from ${keySource}`;
}

/** Anthropic's list of models requires a version header: https://docs.anthropic.com/en/api/models-list */
function headersFor(provider: Provider): Record<string, string> {
  const headers = headersByName(provider.authHeaders);
  return provider.wire === 'anthropic' ? { ...headers, 'anthropic-version': '2023-06-01' } : headers;
}
