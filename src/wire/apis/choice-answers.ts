import {
  choicesText,
  endChoicesAtLimit,
  hasChoiceContent,
  inspectChoices,
  isChoiceOver,
} from '../answer/choices.ts';
import { usageMember } from '../answer/usage-member.ts';
import type { AnswerWire } from '../wire.ts';

/** Reads the answers of both APIs that answer with choices: chat completions and legacy completions. */
export const choiceAnswers: Omit<AnswerWire, 'endpoint'> = {
  usageOf: usageMember,
  inspect: inspectChoices,
  hasContent: hasChoiceContent,
  isOver: isChoiceOver,
  endAtLimit: endChoicesAtLimit,
  textOf: choicesText,
};
