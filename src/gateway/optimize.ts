import type { CompressedRequest } from '../compression/compress-request.ts';
import { type Level, MIN_TOKENS } from '../compression/conversation/compress.ts';
import type { Form } from '../compression/turns/turns.ts';
import { messageOf } from '../errors.ts';
import { applyEdits, moved } from '../json/edit.ts';
import type { Member } from '../json/scan.ts';
import { FLAGS, type Trial } from '../store/ledger/record.ts';
import type { Gateway } from './context/gateway.ts';
import type { Job } from './context/request-context.ts';

/** The compressor leaves prompts of under 500 tokens alone; so few bytes need not be looked at. */
const MIN_BYTES = 1_500;

/** The least that a token is long on average: for how long a prompt may take. */
const BYTES_PER_TOKEN = 4;

/**
 * The context optimizer's stage: the job with a shorter prompt, or the very same job. It never fails a request: on any
 * doubt the original goes out.
 */
export function optimize(gateway: Gateway, job: Job): Job | Promise<Job> {
  const { form } = job.wire;
  const messages = form && job.wire.messagesOf?.(job.asked);
  if (!messages || messages.end - messages.start < MIN_BYTES) return job;
  const level = levelFor(job, configuredLevel(gateway, job));
  if (level === 'off') return job;
  return compressed(gateway, job, { messages, form, level });
}

interface Prompt {
  messages: Member;
  form: Form;
  level: Level;
}

async function compressed(gateway: Gateway, job: Job, prompt: Prompt): Promise<Job> {
  const { form, level } = prompt;
  const { start, end } = prompt.messages;
  const settings = gateway.settings();
  const limitMs = settings['optimizer.deadline_ms'] + (end - start) / BYTES_PER_TOKEN / 1_000;
  try {
    const bytes = job.asked.bytes.subarray(start, end);
    const result = await gateway.compressor.compress({ bytes, form, level }, limitMs);
    if (result) take(job, prompt, { result, holdoutPercent: settings['optimizer.holdout'] });
    else job.optimized = { flags: FLAGS.optimizedLate, savings: [] };
  } catch (error) {
    gateway.warn(`the optimizer passed a request on as it was: ${messageOf(error)}`);
  }
  return job;
}

interface Compression {
  result: CompressedRequest;
  holdoutPercent: number;
}

/** Puts what came of compressing into the job; all or nothing of it. */
function take(job: Job, { messages, level }: Prompt, { result, holdoutPercent }: Compression): void {
  const { edits, savings } = result;
  const trial = isOnTrial(job, result, holdoutPercent) ? trialOf(result, level, holdoutPercent) : undefined;
  // What is held out was compressed all the same, so that both sides of the trial differ in what they send alone.
  if (trial?.heldOut) {
    job.optimized = { flags: FLAGS.heldOut, savings: [], trial };
    return;
  }
  if (edits.length > 0) {
    const here = edits.map((edit) => moved(edit, messages.start));
    job.asked = job.wire.parse(applyEdits(job.asked.bytes, here));
    job.savedTokens = savings.reduce((sum, { tokens }) => sum + tokens, 0);
  }
  job.optimized = { flags: 0, savings, trial };
}

/** Where the hash of a conversation ends: a share of them, drawn once for all of their turns. */
const CONVERSATIONS = 2 ** 48;

/** Not where a request says itself what is to be done, or is too short to be compressed. */
function isOnTrial({ options }: Job, { originalTokens }: CompressedRequest, holdoutPercent: number): boolean {
  return options.optimize === undefined && holdoutPercent > 0 && originalTokens >= MIN_TOKENS;
}

function trialOf({ conversation, originalTokens }: CompressedRequest, level: Level, percent: number): Trial {
  return { conversation, level, originalTokens, heldOut: conversation / CONVERSATIONS < percent / 100 };
}

function configuredLevel(gateway: Gateway, { project }: Job): Level {
  const settings = gateway.settings();
  return settings['optimizer.projects'][project.name] ?? settings['optimizer.level'];
}

/** The request's own word, else the configured level; `true` means at least `safe`. */
function levelFor({ options }: Job, configured: Level): Level {
  if (options.optimize === undefined) return configured;
  if (options.optimize === true) return configured === 'off' ? 'safe' : configured;
  return options.optimize === false ? 'off' : options.optimize;
}
