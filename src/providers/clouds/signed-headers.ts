import type { Provider } from '../registry.ts';

/** The headers that authenticate a reading of gw's own, such as of the list of models. Throws as signers do. */
export async function signedHeaders({ authHeaders, cloud }: Provider, url: URL): Promise<readonly string[]> {
  if (!cloud?.signer) return authHeaders;
  const { origin, pathname } = url;
  const signed = await cloud.signer.sign({ method: 'GET', origin, path: pathname, headers: [], body: null });
  return [...authHeaders, ...signed];
}
