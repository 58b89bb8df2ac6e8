import type { LoweredLimit } from '../../store/ledger/record.ts';
import type { Quote } from './quote.ts';

/** What became of the client's limit; undefined unless gw sends a lower one. */
export function loweredLimit(
  { outputTokens }: Quote,
  sent: number | undefined,
  asked: number | undefined,
): LoweredLimit | undefined {
  return sent !== undefined && sent < outputTokens ? { asked: asked ?? null, sent } : undefined;
}
