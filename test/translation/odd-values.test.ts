import { expect, test } from 'vitest';
import { GwError } from '../../src/errors.ts';
import { isObject } from '../../src/json/object.ts';
import { REQUESTS } from '../bridge/requests.ts';
import { ODD, replaced } from '../support/odd-values.ts';
import * as translations from './support/translations.ts';

const BY_NAME = {
  chat: REQUESTS['chat/completions'],
  messages: REQUESTS.messages,
  responses: REQUESTS.responses,
  gemini: REQUESTS.gemini,
};

test.each(
  Object.entries(translations).map(([name, { request: translate }]) => {
    const client = name.split('For')[1]?.toLowerCase() as keyof typeof BY_NAME;
    const { stop: _stop, ...withoutStops } = BY_NAME.chat;
    const request = name === 'responsesForChat' ? withoutStops : BY_NAME[client];
    return [name, request, (request: object) => translate(request, { maxTokens: 99 })] as const;
  }),
)('%s: an odd value in any place is translated, or refused with its name', (_, request, translate) => {
  translate(request as never);
  const failures: string[] = [];
  for (const odd of ODD)
    for (const other of replaced(request, odd)) {
      if (!isObject(other)) continue;
      try {
        translate(other as never);
      } catch (error) {
        if (!(error instanceof GwError))
          failures.push(`${String(error)} for ${JSON.stringify(other).slice(0, 200)}`);
      }
    }
  expect(failures).toEqual([]);
});
