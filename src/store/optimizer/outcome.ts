import { requestIdAt } from '../../ids.ts';
import type { NanoUsd } from '../../money.ts';
import type { Db } from '../database/open.ts';
import { OUTCOMES, SOURCES } from '../ledger/record.ts';
import type { ModelTrial, Side } from './trials.ts';

/** The result of a trial: what compression saved, estimated from the conversations that were held out. */
export interface TrialOutcome {
  models: ModelOutcome[];
  treatedConversations: number;
  heldOutConversations: number;
  /** Savings against the rate of held-out requests; negative if compression cost money. */
  savedNanoUsd: number;
  /** Half the width of the 95 % confidence interval of `savedNanoUsd`. */
  marginNanoUsd: number;
  /** `too_few`: not enough conversations yet; `unclear`: the confidence interval contains 0. */
  verdict: 'too_few' | 'saves' | 'costs' | 'unclear';
  /** Compression costs money so certainly that the optimizer may switch itself off. */
  isCertain: boolean;
}

interface ModelOutcome extends ModelTrial {
  /** Whether both sides have enough conversations to compare. */
  isCompared: boolean;
}

/** Conversations that a model needs on each side, to estimate their variance. */
const MIN_OF_MODEL = 5;
/** Held-out conversations that all models need together. */
export const MIN_HELD_OUT = 30;
/** Standard errors of the 95 % confidence interval. */
const LIKELY = 2;
/** Standard errors for certainty: the test is repeated often. In a simulation it was wrong for 1 project in 1,000. */
const CERTAIN = 4.5;

/**
 * Compares dollars billed per original token, for each model. The sampling unit is the conversation, since whole
 * conversations are held out. All that was billed counts, output and cache reads and writes included.
 */
export function outcomeOf(trials: readonly ModelTrial[]): TrialOutcome {
  const models = trials.map((trial) => ({ ...trial, isCompared: isComparable(trial) }));
  const compared = models.filter(({ isCompared }) => isCompared);
  let saved = 0;
  let variance = 0;
  for (const { treated, heldOut } of compared) {
    saved += treated.originalTokens * (rateOf(heldOut) - rateOf(treated));
    variance += treated.originalTokens ** 2 * (rateVariance(heldOut) + rateVariance(treated));
  }
  const error = Math.sqrt(variance);
  const count = (side: 'treated' | 'heldOut') =>
    compared.reduce((sum, each) => sum + each[side].conversations, 0);
  const isEnough = count('heldOut') >= MIN_HELD_OUT;
  return {
    models,
    treatedConversations: count('treated'),
    heldOutConversations: count('heldOut'),
    savedNanoUsd: Math.round(saved),
    marginNanoUsd: Math.round(LIKELY * error),
    verdict: isEnough ? verdictOf(saved, LIKELY * error) : 'too_few',
    isCertain: isEnough && saved + CERTAIN * error < 0,
  };
}

/** Nano-USD billed per original token. */
export function rateOf({ costNanoUsd, originalTokens }: Side): number {
  return originalTokens > 0 ? costNanoUsd / originalTokens : 0;
}

function isComparable({ treated, heldOut }: ModelTrial): boolean {
  return Math.min(treated.conversations, heldOut.conversations) >= MIN_OF_MODEL;
}

function verdictOf(saved: number, margin: number): TrialOutcome['verdict'] {
  if (saved - margin > 0) return 'saves';
  return saved + margin < 0 ? 'costs' : 'unclear';
}

/**
 * Variance of a ratio of sums over conversations (Cochran, Sampling Techniques, 6.5). The sample size is the effective
 * one: a few long conversations that make most of the sum count as few.
 */
function rateVariance(side: Side): number {
  const { originalTokens, costSquared, costTimesTokens, tokensSquared } = side;
  const rate = rateOf(side);
  const residual = Math.max(0, costSquared - 2 * rate * costTimesTokens + rate * rate * tokensSquared);
  const count = originalTokens ** 2 / tokensSquared;
  return ((count / Math.max(0.01, count - 1)) * residual) / originalTokens ** 2;
}

/** Savings by compression over a span. */
interface SavedSince {
  savedTokens: number;
  savedNanoUsd: NanoUsd;
  /** Requests that were sent as they came. */
  leftRequests: number;
}

/** Requests that came in from `since` on (UTC milliseconds) and were sent; of one project, if it is given. */
export function savedSince(db: Db, since: number, projectId?: number): SavedSince {
  const sums = `total(saved_tokens) AS savedTokens, total(saved_nano_usd) AS savedNanoUsd,
    count(iif(saved_tokens = 0, 1, NULL)) AS leftRequests`;
  const where = `id >= @first AND at >= @since AND source = ${SOURCES.gw} AND outcome <> ${OUTCOMES.blocked} AND input_tokens > 0
    AND (@projectId IS NULL OR project_id = @projectId)`;
  const row = db
    .prepare<[{ first: number; since: number; projectId: number | null }], SavedSince>(`
      SELECT total(savedTokens) AS savedTokens, total(savedNanoUsd) AS savedNanoUsd, sum(leftRequests) AS leftRequests
      FROM (SELECT ${sums} FROM requests WHERE ${where} UNION ALL SELECT ${sums} FROM journal WHERE state <> 0 AND ${where})`)
    .get({ first: requestIdAt(since), since, projectId: projectId ?? null });
  return row ?? { savedTokens: 0, savedNanoUsd: 0, leftRequests: 0 };
}
