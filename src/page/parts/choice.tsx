import { change } from '../state/address.ts';

interface ChoiceProps<Value extends string> {
  /** Of the parameter in the address. */
  name: string;
  choices: readonly Value[];
  value: Value;
}

/** One of a few, side by side. */
export function Choice<Value extends string>({ name, choices, value }: ChoiceProps<Value>) {
  return (
    <fieldset className="choice">
      <legend className="unseen">{name}</legend>
      {choices.map((choice) => (
        <button
          key={choice}
          type="button"
          aria-pressed={choice === value}
          onClick={() => change({ [name]: choice })}
        >
          {choice}
        </button>
      ))}
    </fieldset>
  );
}
