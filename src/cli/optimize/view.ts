import { formatUsd, usdNumber } from '../../money.ts';
import { rateAt } from '../../pricing/rate.ts';
import { usdPerMillion } from '../../reading/price-views.ts';
import { count, percent, plural } from '../../terminal/numbers.ts';
import { servedBy } from '../../terminal/request-words.ts';
import { type Column, table } from '../../terminal/table.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { clean, shorten } from '../../terminal/text.ts';
import { perMillion } from '../prices/read.ts';
import { diffLines, shortDiff } from './diff.ts';
import type { MessageOutcome, Outcome } from './measure.ts';
import type { Worth } from './price.ts';

const MAX_DIFF_LINES = 40;

type Row = Pick<MessageOutcome, 'role' | 'transforms' | 'tokensBefore' | 'tokensAfter'> & {
  index?: number;
};

/** The effect of compression on each message, as a table. */
export function outcomeTable(outcome: Outcome, terminal: Terminal): string {
  const { palette } = terminal;
  const rows: Row[] = outcome.messages;
  const columns: Column<Row>[] = [
    { header: '#', value: ({ index }) => String(index ?? ''), align: 'right' },
    { header: 'role', value: ({ role }) => role, shrinks: true },
    { header: 'before', value: ({ tokensBefore }) => count(tokensBefore), align: 'right' },
    { header: 'after', value: ({ tokensAfter }) => count(tokensAfter), align: 'right' },
    { header: 'saved', value: savedShare, align: 'right' },
    { header: 'by', value: ({ transforms }) => transforms.join(', '), shrinks: true },
  ];
  const { tokensBefore, tokensAfter } = outcome;
  const total: Row = { role: 'total', transforms: [], tokensBefore, tokensAfter };
  const title =
    palette.bold(`Optimizer, level ${outcome.level}`) + (outcome.exact ? '' : ' (tokens are estimates)');
  return [title, '', ...table(rows, columns, { terminal, total })].join('\n');
}

/** The total saving in tokens and, if a price is known, in dollars. */
export function summary({ tokensBefore, tokensAfter, level }: Outcome, worth: Worth | undefined): string {
  const saved = tokensBefore - tokensAfter;
  if (saved === 0)
    return level === 'off' ? 'The optimizer is off.' : 'Nothing to save: the request stays as it is.';
  const saving = `Saves ${count(saved)} of ${plural(tokensBefore, 'input token')}`;
  if (!worth) return `${saving}. To see dollars: gw optimize --model MODEL`;
  const { card } = worth.price;
  const rate = perMillion(Number(rateAt(card.input, tokensBefore)));
  return `${saving}, ${formatUsd(worth.savedNanoUsd)} at ${clean(servedBy(worth.price))} (${rate} per million, uncached).`;
}

/** A diff of each changed message, with the transforms that changed it. */
export function outcomeDiff(
  { messages }: Pick<Outcome, 'messages'>,
  { palette, columns, symbols }: Terminal,
  titleOf: (message: MessageOutcome) => string = ({ index, role, transforms }) =>
    `${index} ${role}: ${transforms.join(', ')}`,
): string {
  const styles = { '-': palette.warn, '+': palette.accent, ' ': palette.dim };
  return messages
    .flatMap((message) => {
      const { before, after } = message;
      if (before === after) return [];
      const lines = shortDiff(diffLines(before, after), MAX_DIFF_LINES).map(({ sign, text }) =>
        styles[sign](`${sign} ${shorten(clean(text), columns - 2, symbols.ellipsis)}`),
      );
      return ['', palette.bold(clean(titleOf(message))), ...lines];
    })
    .join('\n');
}

export function outcomeJson(outcome: Outcome, worth: Worth | undefined): Record<string, unknown> {
  const { level, exact, tokensBefore, tokensAfter, messages } = outcome;
  return {
    level,
    tokens_exact: exact,
    tokens_before: tokensBefore,
    tokens_after: tokensAfter,
    saved_tokens: tokensBefore - tokensAfter,
    saved_usd: worth ? usdNumber(worth.savedNanoUsd) : null,
    saved_nano_usd: worth?.savedNanoUsd ?? null,
    price: worth
      ? {
          provider: worth.price.provider,
          model: worth.price.model,
          input_usd_per_million: usdPerMillion(Number(rateAt(worth.price.card.input, tokensBefore))),
        }
      : null,
    messages: messages.map((message) => ({
      index: message.index,
      role: message.role,
      tokens_before: message.tokensBefore,
      tokens_after: message.tokensAfter,
      transforms: message.transforms,
    })),
  };
}

function savedShare({ tokensBefore, tokensAfter }: Row): string {
  return tokensAfter === tokensBefore ? '-' : percent(1 - tokensAfter / tokensBefore);
}
