import type { CompressedRequest } from '../compression/compress-request.ts';
import { type Level, MIN_TOKENS } from '../compression/conversation/compress.ts';
import type { Form } from '../compression/turns/turns.ts';
import type { Settings } from '../config/settings.ts';
import { messageOf } from '../errors.ts';
import { applyEdits, moved } from '../json/edit.ts';
import type { Member } from '../json/scan.ts';
import { FLAGS, type Trial } from '../store/ledger/record.ts';
import { withEditedMember } from '../wire/request/scan/body-scan.ts';
import type { Gateway } from './context/gateway.ts';
import type { RequestContext } from './context/request-context.ts';

type OptimizeParts = Pick<Gateway, 'settings' | 'compressor' | 'warn'>;

/** Shorter conversations hardly ever have the 500 tokens below which the compressor changes nothing. */
const MIN_BYTES = 3 * MIN_TOKENS;

/** Estimates a prompt's tokens, to allow a millisecond for each thousand. */
const BYTES_PER_TOKEN = 4;

/** Shortens the prompt of a request. Never fails a request: if compression fails, the original is sent. */
export function optimize(
  gateway: OptimizeParts,
  context: RequestContext,
): RequestContext | Promise<RequestContext> {
  const { form } = context.wire;
  const messages = form && context.wire.messagesOf?.(context.request);
  if (!messages || messages.end - messages.start < MIN_BYTES) return context;
  const level = levelFor(context, configuredLevel(gateway, context));
  if (level === 'off') return context;
  return compress(gateway, context, { messages, form, level });
}

interface Prompt {
  messages: Member;
  form: Form;
  level: Level;
}

async function compress(
  gateway: OptimizeParts,
  context: RequestContext,
  prompt: Prompt,
): Promise<RequestContext> {
  const { form, level } = prompt;
  const { start, end } = prompt.messages;
  const settings = gateway.settings();
  const limitMs = settings['optimizer.deadline_ms'] + (end - start) / BYTES_PER_TOKEN / 1_000;
  try {
    const bytes = context.request.bytes.subarray(start, end);
    const result = await gateway.compressor.compress({ bytes, form, level }, limitMs);
    if (result) apply(settings, context, prompt, result);
    else context.optimized = { flags: FLAGS.optimizedLate, savings: [] };
  } catch (error) {
    gateway.warn(`the optimizer failed, and the request was sent unchanged: ${messageOf(error)}`);
  }
  return context;
}

/** Applies the compressed prompt to the request, unless a trial holds the request out. */
function apply(
  settings: Settings,
  context: RequestContext,
  { messages, level }: Prompt,
  result: CompressedRequest,
): void {
  const { edits, savings } = result;
  const holdoutPercent = settings['optimizer.holdout'];
  const trial = isOnTrial(context, result, holdoutPercent)
    ? trialOf(result, level, holdoutPercent)
    : undefined;
  // Held-out requests are compressed too, so that both groups of the trial differ only in what is sent.
  if (trial?.heldOut) {
    context.optimized = { flags: FLAGS.heldOut, savings: [], trial };
    return;
  }
  if (edits.length > 0) {
    if (settings['requests.keep_bodies'] === 'on') context.clientBody = context.request.bytes;
    const bodyEdits = edits.map((edit) => moved(edit, messages.start));
    const { bytes, scan } = context.request;
    const edited = applyEdits(bytes, bodyEdits);
    const known = scan && withEditedMember(scan, messages, edited.length - bytes.length);
    context.request = context.wire.parse(edited, known);
    context.savedTokens = savings.reduce((sum, { tokens }) => sum + tokens, 0);
  }
  const work = result.originalTokens >= MIN_TOKENS ? result.work : undefined;
  context.optimized = { flags: 0, savings, work, trial };
}

/** Range of a conversation's hash, which assigns all its turns to the same group of the trial. */
const HASH_RANGE = 2 ** 48;

/** A request is on trial unless it chooses its own level or is too short to be compressed. */
function isOnTrial(
  { options }: RequestContext,
  { originalTokens }: CompressedRequest,
  holdoutPercent: number,
): boolean {
  return options.optimize === undefined && holdoutPercent > 0 && originalTokens >= MIN_TOKENS;
}

function trialOf({ conversation, originalTokens }: CompressedRequest, level: Level, percent: number): Trial {
  return { conversation, level, originalTokens, heldOut: conversation / HASH_RANGE < percent / 100 };
}

function configuredLevel(gateway: Pick<Gateway, 'settings'>, { project }: RequestContext): Level {
  const settings = gateway.settings();
  return settings['optimizer.projects'][project.name] ?? settings['optimizer.level'];
}

/** The level that the request asks for, else the configured one; `true` means at least `safe`. */
function levelFor({ options }: RequestContext, configured: Level): Level {
  if (options.optimize === undefined) return configured;
  if (options.optimize === true) return configured === 'off' ? 'safe' : configured;
  return options.optimize === false ? 'off' : options.optimize;
}
