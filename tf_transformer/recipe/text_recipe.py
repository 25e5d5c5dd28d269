"""What the recipes of all tasks on text have in common."""

from typing import ClassVar, Self

from tf_transformer.recipe.base import Recipe, Rule
from tf_transformer.recipe.fields import key
from tf_transformer.recipe.text_section import (
    Text,
    entries_form,
    normal_form_faults,
    text_faults,
    update_faults,
)


class TextRecipe(Recipe):
    """A recipe with a ``text`` section."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        *Recipe.RULES,
        (("text",), text_faults),
        (("text", "training"), update_faults),
        (("data", "text"), normal_form_faults),
    )

    text: Text = key(
        Text(), "How text becomes ids, in training and in serving alike.", midway="refused", after="data"
    )

    def completed(self) -> Self:
        """See `Recipe`; also the normal form, which entries may name."""
        recipe = super().completed()
        form = recipe.text.normal_form or entries_form(recipe.data) or "none"
        return recipe.replaced("text", normal_form=form)
