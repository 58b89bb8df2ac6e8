import type { Quote } from './quote.ts';

/** An output limit that was lowered to fit a budget, of each choice. Stored in records. */
export interface LoweredLimit {
  /** The client's own limit; null if it set none. */
  asked: number | null;
  sent: number;
}

/** What became of the client's limit; undefined unless gw sends a lower one. */
export function loweredLimit(
  { outputTokens }: Quote,
  sent: number | undefined,
  asked: number | undefined,
): LoweredLimit | undefined {
  return sent !== undefined && sent < outputTokens ? { asked: asked ?? null, sent } : undefined;
}
