import type { IncomingHttpHeaders } from 'node:http';
import { quoteRequest } from '../../../src/gateway/admission/quote-request.ts';
import { chatWire } from '../../../src/wire/apis/chat.ts';
import type { Wire } from '../../../src/wire/wire.ts';
import { type GatewayParts, openGatewayParts } from '../../support/gateway-parts.ts';

/** A request to be quoted. */
export interface Case {
  model: string;
  wire?: Wire;
  body: Record<string, unknown>;
  headers?: IncomingHttpHeaders;
  /** Bounds that have failed at the target. */
  distrusted?: readonly string[];
  /** Tenths of the list price that the model has cost. */
  tenths?: number;
  inputTokens?: number;
}

/** A gateway with providers whose prices are known. */
export const opened = () =>
  openGatewayParts({
    settings: {
      providers: {
        ...{ mock: { baseUrl: 'http://127.0.0.1:1/v1' }, openai: {}, anthropic: {}, openrouter: {}, xai: {} },
        ...{ groq: {}, perplexity: {}, azure: { baseUrl: 'https://x.openai.azure.com/openai/v1' } },
      },
    },
    credentials: Object.fromEntries(
      ['mock', 'openai', 'anthropic', 'openrouter', 'xai', 'groq', 'perplexity', 'azure'].map((name) => [
        name,
        'k',
      ]),
    ),
  });

/** A quote of a request, and how its context reads. */
export async function quoted(parts: GatewayParts, { body, ...given }: Case) {
  const { model, wire = chatWire, headers = {}, distrusted = [], tenths, inputTokens = 100 } = given;
  const context = parts.contextOf({ model, ...body }, wire);
  Object.assign(context.exchange.request.headers, headers);
  const target = await parts.targetOf(model);
  const gateway = {
    ...parts.gateway,
    boundTrust: {
      ...parts.gateway.boundTrust,
      isTrusted: (_: unknown, bound: string) => !distrusted.includes(bound),
      priceTenths: () => tenths,
    },
  } as typeof parts.gateway;
  return () => {
    const quote = quoteRequest(gateway, context, target)(inputTokens);
    return { gateway, context, target, quote };
  };
}
