import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const FOLDERS = ['src', 'test', 'docs'];
const THIS_FILE = 'test/words.test.ts';

/**
 * Names of gw's own making that the code no longer uses, and the field's word that replaced each. A pattern matches
 * whole identifiers.
 */
const RETIRED: readonly (readonly [name: RegExp, word: string])[] = [
  [/\bJob\b/, 'RequestContext'],
  [/\bForwarding\b(?! to )/, 'Attempt'],
  [/\bCallReport\b/, 'AttemptResult'],
  [/\b(RunningCall|startCall)\b/, 'GuardedCall, sendAttempt'],
  [/\brelayAnswer\b/, 'sendAttempt, nextAttempt, settle, deliver'],
  [/\b(withFailed|wordFor)\b/, 'appendFailure, outcomeWord'],
  [/\b(Bond|bondOf|withinBond|holdsFast)\b/, 'Affinity, affinityOf, targetsWithAffinity, isPinned'],
  [/\b(hasSeals|SEALS)\b/, 'hasEncryptedReasoning'],
  [
    /\b(crossAfter|crossOver|canReach|Crossing\w*|findCrossing|Crossroads)\b/,
    'translateAfterRefusal, Translation',
  ],
  [/\b(ChatOnly|chatOnly|createChatOnly|learnOtherwise|isChatOnly)\b/, 'ResponsesSupport, markSupported'],
  [/\b(DefaultTerms|defaultTerms|ToolTerms\w*|toolTerms|TERM_FIELDS)\b/, 'Surcharges, ToolFees'],
  [/\b(pinTier|TierRule)\b/, 'defaultServiceTierEdits, ServiceTierRule'],
  [/\b(Unseen\w*|unseenBound|unseenReaders|NOTHING_UNSEEN)\b/, 'NonTextInput, nonTextBound, TEXT_ONLY'],
  [/\b(OWN_THOUGHTS|withoutOwnThoughts|thoughtsBeyond|thoughtOf)\b/, 'OWN_REASONING_MARK, stripOwnReasoning'],
  [/\b(quoter|limiting|Limited)\b/, 'quoteRequest, fittingHold, FittingHold'],
  [/\b(createSettler|Settler|settlersOf|settledBy)\b/, 'SettleRetry, Determinant'],
  [/\b(plausibleUsage|plausibleCost)\b/, 'clampUsage, clampCost'],
  [/\binClientsWay\b/, 'forCodex'],
  [
    /\b(signsOf|signsOfStream|judgeAnswer|Lessons?|createLessons|Heard|createLearners)\b/,
    'the learner is gone',
  ],
  [/\b(Racer|outrunBy|isOutrun|mayHedge)\b/, 'hedging is gone'],
  [/\b(KeptEvents|AnswerTail|ClientBody)\b/, 'EventBuffer, TailBuffer, ResponseWriter'],
  [/\b(encodeLike|JsonModel|modelOfJson)\b/, 'encodeByTemplate, JsonTemplate'],
  [/\bcountWhereNamed\b/, 'claimRepository'],
  [/\b(RECORDED_ELSEWHERE|reserveLate|postLate|repoKnown)\b/, 'GwError.recorded; late origins are gone'],
];

const files = FOLDERS.flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(ts|tsx|mjs|md)$/.test(file) && !file.includes('node_modules'))
    .map((file) => `${folder}/${file}`),
).filter((file) => file !== THIS_FILE);

test('retired names stay out of code, tests and documents', () => {
  expect(files.length).toBeGreaterThan(500);
  const found = files.flatMap((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8');
    return RETIRED.flatMap(([name, word]) => {
      const match = name.exec(text);
      return match ? [`${file}: ${match[0]} (now: ${word})`] : [];
    });
  });
  expect(found).toEqual([]);
});
