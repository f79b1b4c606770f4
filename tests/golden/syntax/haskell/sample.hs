{-# LANGUAGE GADTs, TypeFamilies #-}
-- | Recipes for a bakery, scaled and priced.
module Bakery.Recipe
  ( Recipe (..)
  , Unit (Gram, Piece)
  , Priced (price)
  , scale
  , (<+>)
  , module Bakery.Oven
  ) where

import Bakery.Oven
import qualified Data.Map.Strict as Map
import Data.List (sortOn, foldl')
import Data.Maybe hiding (fromJust)
import Data.Text qualified as T
import Control.Monad.State (State, MonadState (get, put))

-- | How an ingredient is measured.
data Unit
  = Gram
  | Piece Int
  | Spoon { heaped :: Bool, size, größe :: Double }
  deriving (Eq, Show)

-- | A name that is not empty.
newtype Name = Name { unName :: T.Text }
  deriving newtype (Eq, Ord)

type Pantry = Map.Map Name Double

-- | A list of what goes in.
data Recipe = Recipe
  { title :: Name
  , parts :: [(Name, Unit)] -- ^ in order of use
  }

data Step a where
  Wait :: Int -> Step ()
  Mix :: Recipe -> Step Pantry

-- | Things that cost money.
class Ord (Cost a) => Priced a where
  type Cost a
  -- | What one of it costs.
  price :: a -> Cost a
  cheaper, dearer :: a -> a -> Bool
  cheaper x y = price x < price y

instance Priced Recipe where
  type Cost Recipe = Double
  price recipe = sum (map cost (parts recipe))
    where
      cost :: (Name, Unit) -> Double
      cost (_, Gram) = 0.01
      cost (name, Piece n) = fromIntegral n * lookupPrice name

instance Show a => Show (Step a) where
  show _ = "step"

-- | Makes more, or less, of it.
--
-- >>> scale 2 bread
scale :: Double -> Recipe -> Recipe
scale 1 recipe = recipe
scale factor recipe
  | factor <= 0 = error "nothing to bake"
  | otherwise = recipe { parts = map (fmap (grow factor)) (parts recipe) }

grow :: Double -> Unit -> Unit
grow factor unit = case unit of
  Piece n -> Piece (round (factor * fromIntegral n))
  other -> other

infixr 5 <+>

-- | Both, one after the other.
(<+>) :: Recipe -> Recipe -> Recipe
first <+> second = first { parts = parts first ++ parts second }

x `before` y = title x < title y

lookupPrice :: Name -> Double
lookupPrice = Map.findWithDefault 1 `flip` prices

prices :: Pantry
prices = Map.fromList []

bake :: Recipe -> State Pantry ()
bake recipe = do
  pantry <- get
  put $ foldl' use pantry (sortOn fst (parts recipe))
  notice
  where
    use store (name, _) = Map.insertWith (+) name 1 store
    notice = pure ()
