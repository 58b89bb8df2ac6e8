import { encodingOf } from '../../tokens/encoding.ts';
import { messagesWire } from '../../wire/apis/messages.ts';
import { serviceHeaders } from '../answer/service-headers.ts';
import type { Gateway } from '../context/gateway.ts';
import type { AnyRequestContext } from '../context/request-context.ts';
import { recordOf } from '../context/request-record.ts';
import type { Target } from '../state/resolver.ts';

/** Rough number of tokens that a message, tool or field takes besides its text. */
const TOKENS_PER_ITEM = 4;

/** Answers `messages/count_tokens` for a model that no provider of Anthropic's API serves. */
export async function countTokens(
  gateway: Pick<Gateway, 'clock' | 'ledger' | 'tokens'>,
  context: AnyRequestContext,
  target: Target,
): Promise<void> {
  const { texts, items, tokens } = messagesWire.promptOf(messagesWire.parse(context.request.bytes));
  const textTokens = await gateway.tokens.count(texts, encodingOf(target.model) ?? 'o200k_base');
  const body = JSON.stringify({ input_tokens: textTokens + tokens + items * TOKENS_PER_ITEM });
  const fields = { status: 200, outcome: 'ok' } as const;
  await gateway.ledger.record(recordOf(context, target, fields, gateway.clock.monotonic()));
  const about = { id: context.exchange.id, model: target.model, provider: target.provider.name };
  context.exchange.response.writeHead(200, [
    'content-type',
    'application/json',
    'content-length',
    String(Buffer.byteLength(body)),
    ...serviceHeaders({ ...about, route: 'counted', savedTokens: 0, costNanoUsd: 0, remainingNanoUsd: null }),
  ]);
  context.exchange.response.end(body);
}
