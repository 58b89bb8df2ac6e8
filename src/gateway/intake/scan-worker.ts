import { GwError } from '../../errors.ts';
import { withPlainLetters } from '../../json/plain-letters.ts';
import { chatWire } from '../../wire/apis/chat.ts';
import { completionsWire } from '../../wire/apis/completions.ts';
import { embeddingsWire } from '../../wire/apis/embeddings.ts';
import { messagesWire } from '../../wire/apis/messages.ts';
import { compactWire, responsesWire } from '../../wire/apis/responses.ts';
import { type BodyScan, scanBody } from '../../wire/request/scan/body-scan.ts';
import { normalizationGrowth } from '../../wire/request/text-growth.ts';
import { answerCalls } from '../../worker-calls.ts';

type ScanTask = 'letters' | 'scan' | 'growth';

export interface ScanRequest {
  task: ScanTask;
  bytes: Uint8Array;
  /** The API whose requests are scanned; undefined for one that gw passes through. */
  endpoint?: string | undefined;
}

/**
 * `letters`: the body with plain letters. `scan`: what was found, or why the body can't be read. `growth`: the tokens by
 * which its text can exceed its bytes.
 */
export type ScanAnswer =
  | { bytes: Uint8Array }
  | { scan: BodyScan }
  | { refused: string }
  | { growth: number };

const WIRES = [chatWire, completionsWire, embeddingsWire, messagesWire, responsesWire, compactWire];

/** The worker thread of `scan-large.ts`. */
answerCalls(({ task, bytes: { buffer, byteOffset, length }, endpoint }: ScanRequest): ScanAnswer => {
  const bytes = Buffer.from(buffer, byteOffset, length);
  if (task === 'letters') return { bytes: withPlainLetters(bytes) };
  if (task === 'growth') return { growth: normalizationGrowth(bytes) };
  const wire = WIRES.find((each) => each.endpoint === endpoint);
  try {
    return { scan: wire ? wire.scan(bytes) : scanBody(bytes, undefined) };
  } catch (error) {
    if (error instanceof GwError) return { refused: error.message };
    throw error;
  }
});
