import type { AskRemote } from '../../remote/client.ts';

/** The answer of `GET /v1/gw/whoami`. */
export interface Whoami {
  version: string;
  key: { id: number; project_id: string; hint: string; admin: boolean; label: string | null };
}

export async function whoami(ask: AskRemote): Promise<Whoami> {
  return (await ask({ path: '/v1/gw/whoami' })) as Whoami;
}
