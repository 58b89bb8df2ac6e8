import type { Exchange } from './exchange.ts';

/** The fields of a chat request that the scripts obey. */
export interface ChatRequest {
  model: string;
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
  max_tokens?: number;
  max_completion_tokens?: number;
  n?: number;
}

/** The chat request of an exchange, once its body is whole. */
export async function chatRequestOf(exchange: Exchange): Promise<ChatRequest> {
  return { model: 'test-model', ...JSON.parse((await exchange.body).toString()) };
}

/** How many tokens the scripts count for a prompt: a quarter of the request's bytes. */
export function promptTokensOf(exchange: Exchange): number {
  return Math.ceil(exchange.request.body.length / 4);
}
