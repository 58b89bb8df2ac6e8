import type { Network } from '../network/network.ts';
import { signedHeaders } from './clouds/signed-headers.ts';
import { type ListedModel, parseModelList } from './model-lists.ts';
import { type Provider, WIRE_HEADERS } from './registry.ts';

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 16 * 1024 * 1024;

/** Fetches a provider's models with `GET /models`. Throws errors with user-facing messages. */
export async function fetchModels(provider: Provider, network: Network): Promise<ListedModel[]> {
  const { request } = await import('undici');
  const url = new URL(`${provider.origin}${provider.basePath}/models`);
  const answer = await request(url, {
    dispatcher: network.open(url, { own: provider.ownProxy }),
    headers: [
      'accept',
      'application/json',
      ...(await signedHeaders(provider, url)),
      ...WIRE_HEADERS[provider.wire],
    ],
    headersTimeout: TIMEOUT_MS,
    bodyTimeout: TIMEOUT_MS,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const text = await readText(answer.body);
  if (answer.statusCode !== 200) throw new Error(`HTTP ${answer.statusCode}`);
  return parseModelList(text);
}

async function readText(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new Error('the list is larger than 16 MB');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
