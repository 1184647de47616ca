#include "pinfold/checkpoint/fields.hpp"

namespace pinfold::checkpoint {

void describe(fields::Fields& fields, Note& note) {
  fields.type("Note", "A fact about a pod, a container or a file.");
  fields.member("object", note.object, "POD, POD/CONTAINER or the file's name.");
  fields.member("text", note.text, "");
}

void describe(fields::Fields& fields, ReadBack& assignment) {
  fields.type("ReadBack", "An assignment from the control group of a running container.");
  fields.member("object", assignment.object,
                "POD/CONTAINER; POD: the pod-level reservation; \"shared pool\".");
  fields.member("resource", assignment.resource, "\"cpu\" or \"memory\".");
  fields.member("text", assignment.text, "");
  fields.member("source", assignment.source,
                "The kernel's file; for several containers that of the first.");
}

void describe(fields::Fields& fields, Difference& difference) {
  fields.type("StateDifference", "What two states have for an object.");
  fields.member("object", difference.object,
                "\"shared pool\", POD, POD/CONTAINER, \"baseline of POD/CONTAINER\", "
                "\"NUMA node 0 memory\".");
  fields.member("before", difference.before, "\"\": it did not exist.");
  fields.member("after", difference.after, "\"\": it does not exist.");
}

void describe(fields::Fields& fields, WrongSum& sum) {
  fields.type("WrongChecksum", "A checksum that does not fit the contents.");
  fields.member("field", sum.field, "\"checksum (V3)\": computed as for that version.");
  fields.member("found", sum.found, "");
  fields.member("computed", sum.computed, "");
}

}  // namespace pinfold::checkpoint
