import type { CompressedRequest } from '../compression/compress-request.ts';
import { type Level, MIN_TOKENS } from '../compression/conversation/compress.ts';
import type { Form } from '../compression/turns/turns.ts';
import { messageOf } from '../errors.ts';
import { applyEdits, moved } from '../json/edit.ts';
import type { Member } from '../json/scan.ts';
import { FLAGS, type Trial } from '../store/ledger/record.ts';
import type { Gateway } from './context/gateway.ts';
import type { RequestContext } from './context/request-context.ts';

/** The compressor leaves prompts of under 500 tokens alone; so few bytes need not be looked at. */
const MIN_BYTES = 1_500;

/** The least that a token is long on average: for how long a prompt may take. */
const BYTES_PER_TOKEN = 4;

/**
 * The context optimizer's stage: the job with a shorter prompt, or the very same job. It never fails a request: on any
 * doubt the original goes out.
 */
export function optimize(
  gateway: Gateway,
  context: RequestContext,
): RequestContext | Promise<RequestContext> {
  const { form } = context.wire;
  const messages = form && context.wire.messagesOf?.(context.request);
  if (!messages || messages.end - messages.start < MIN_BYTES) return context;
  const level = levelFor(context, configuredLevel(gateway, context));
  if (level === 'off') return context;
  return compressed(gateway, context, { messages, form, level });
}

interface Prompt {
  messages: Member;
  form: Form;
  level: Level;
}

async function compressed(
  gateway: Gateway,
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
    if (result) take(context, prompt, { result, holdoutPercent: settings['optimizer.holdout'] });
    else context.optimized = { flags: FLAGS.optimizedLate, savings: [] };
  } catch (error) {
    gateway.warn(`the optimizer passed a request on as it was: ${messageOf(error)}`);
  }
  return context;
}

interface Compression {
  result: CompressedRequest;
  holdoutPercent: number;
}

/** Puts what came of compressing into the job; all or nothing of it. */
function take(
  context: RequestContext,
  { messages, level }: Prompt,
  { result, holdoutPercent }: Compression,
): void {
  const { edits, savings } = result;
  const trial = isOnTrial(context, result, holdoutPercent)
    ? trialOf(result, level, holdoutPercent)
    : undefined;
  // What is held out was compressed all the same, so that both sides of the trial differ in what they send alone.
  if (trial?.heldOut) {
    context.optimized = { flags: FLAGS.heldOut, savings: [], trial };
    return;
  }
  if (edits.length > 0) {
    const here = edits.map((edit) => moved(edit, messages.start));
    context.request = context.wire.parse(applyEdits(context.request.bytes, here));
    context.savedTokens = savings.reduce((sum, { tokens }) => sum + tokens, 0);
  }
  context.optimized = { flags: 0, savings, trial };
}

/** Where the hash of a conversation ends: a share of them, drawn once for all of their turns. */
const CONVERSATIONS = 2 ** 48;

/** Not where a request says itself what is to be done, or is too short to be compressed. */
function isOnTrial(
  { options }: RequestContext,
  { originalTokens }: CompressedRequest,
  holdoutPercent: number,
): boolean {
  return options.optimize === undefined && holdoutPercent > 0 && originalTokens >= MIN_TOKENS;
}

function trialOf({ conversation, originalTokens }: CompressedRequest, level: Level, percent: number): Trial {
  return { conversation, level, originalTokens, heldOut: conversation / CONVERSATIONS < percent / 100 };
}

function configuredLevel(gateway: Gateway, { project }: RequestContext): Level {
  const settings = gateway.settings();
  return settings['optimizer.projects'][project.name] ?? settings['optimizer.level'];
}

/** The request's own word, else the configured level; `true` means at least `safe`. */
function levelFor({ options }: RequestContext, configured: Level): Level {
  if (options.optimize === undefined) return configured;
  if (options.optimize === true) return configured === 'off' ? 'safe' : configured;
  return options.optimize === false ? 'off' : options.optimize;
}
