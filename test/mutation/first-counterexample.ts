/** A mutant is killed by the first counterexample of a property: a smaller one would only take time. */
import fc from 'fast-check';

fc.configureGlobal({ endOnFailure: true });
